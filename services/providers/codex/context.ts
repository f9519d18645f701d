/** Codex cuts the middle out of a longer entry of `additionalContext`, without a word (measured on 0.171.0). UTF-8 bytes. */
const maxEntryBytes = 4_000;

export type AdditionalContext = Record<string, { value: string; kind: "application" }>;

/**
 * Artefacts as entries of `additionalContext`, which the model is told before the user's message, in the order of their
 * keys. Each artefact is cut into pieces that Codex passes on whole; joined, they are the artefact again. Keys carry the
 * attempt, because an entry that equals the one of the turn before is left out by Codex.
 */
export function additionalContext(artefacts: string[], attemptId: string): AdditionalContext | undefined {
  if (artefacts.length === 0) return undefined;
  const tail = attemptId.slice(-12);
  const entries: AdditionalContext = {};
  for (const [index, artefact] of artefacts.entries()) {
    const pieces = piecesOf(artefact, maxEntryBytes);
    for (const [at, value] of pieces.entries()) {
      const key = `handoff-${tail}-${place(index, artefacts.length)}-part-${place(at, pieces.length)}`;
      entries[key] = { value, kind: "application" };
    }
  }
  return entries;
}

/** `03-of-12`: in the order of counting when sorted as text. */
function place(index: number, count: number): string {
  const digits = String(count).length;
  return `${String(index + 1).padStart(digits, "0")}-of-${count}`;
}

/** Pieces of at most `maxBytes` UTF-8 bytes that join to `text`; cut after a line where one ends in the last quarter. */
export function piecesOf(text: string, maxBytes: number): string[] {
  const pieces: string[] = [];
  let start = 0;
  while (start < text.length) {
    const limit = endWithin(text, start, maxBytes);
    const line = limit < text.length ? text.lastIndexOf("\n", limit - 1) + 1 : limit;
    const end = line > start + (limit - start) * 0.75 ? line : limit;
    pieces.push(text.slice(start, end));
    start = end;
  }
  return pieces;
}

/** The furthest end of a whole character, from `start`, within so many bytes. */
function endWithin(text: string, start: number, maxBytes: number): number {
  let bytes = 0;
  let at = start;
  while (at < text.length) {
    const code = text.codePointAt(at) ?? 0;
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    if (bytes > maxBytes) break;
    at += code < 0x10000 ? 1 : 2;
  }
  return at;
}
