const shortest = 8;
const bareLength = 32;

/** An id without noun, `import:` and dashes; what short references are compared with. */
const bare = (id: string): string => id.slice(id.lastIndexOf(":") + 1).replaceAll("-", "");

/**
 * For each id the shortest beginning, of eight digits at least, that no other of them has. Ids made within a moment begin
 * alike (uuid version 7), hence not one length for all.
 */
export function shortIds(ids: readonly string[]): Map<string, string> {
  const sorted = ids.map((id) => ({ id, digits: bare(id) })).sort((a, b) => (a.digits < b.digits ? -1 : 1));
  const short = new Map<string, string>();
  sorted.forEach(({ id, digits }, place) => {
    const before = common(digits, sorted[place - 1]?.digits ?? "");
    const after = common(digits, sorted[place + 1]?.digits ?? "");
    const length = Math.min(bareLength, Math.max(shortest, before + 1, after + 1));
    short.set(id, id.includes(":import:") ? digits.slice(0, length) : dashed(digits.slice(0, length)));
  });
  return short;
}

function common(a: string, b: string): number {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length += 1;
  return length;
}

/** With the dashes where the whole id has them, so that it can be found in one by eye. */
function dashed(digits: string): string {
  const ends = [8, 12, 16, 20];
  return [0, ...ends].flatMap((start, place) => digits.slice(start, ends[place]) || []).join("-");
}
