/** Below this a cut would say more about itself than it saves. */
const worthIt = 60;

/**
 * A text with its middle cut out, so that about `bound` characters of it are left: more of its end than of its start, for
 * that is where a command says what went wrong. The cut is named in a line of its own. `cut` is what was taken out.
 */
export function shorten(text: string, bound: number): { text: string; cut: string[] } {
  if (text.length <= bound + worthIt) return { text, cut: [] };
  const start = edge(text, Math.floor(bound / 3));
  const end = edge(text, text.length - (bound - start));
  const cut = text.slice(start, end);
  const kept = [text.slice(0, start), `[${cut.length} characters left out]`, text.slice(end)];
  return { text: kept.filter((part) => part !== "").join("\n"), cut: [cut] };
}

/** The place, or the one before it where it lies inside a character. */
function edge(text: string, at: number): number {
  const inside = /[\udc00-\udfff]/.test(text.charAt(at)) && /[\ud800-\udbff]/.test(text.charAt(at - 1));
  return inside ? at - 1 : at;
}
