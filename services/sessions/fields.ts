/** Reading members of JSON that somebody else wrote: what is not of the expected kind is absent. */
export type Entry = Record<string, unknown>;

export const text = (value: unknown): string | null => (typeof value === "string" ? value : null);
export const entry = (value: unknown): Entry | null =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Entry) : null;
export const list = (value: unknown): Entry[] => (Array.isArray(value) ? value.map(entry).filter((item) => item !== null) : []);

/** Milliseconds of an ISO time, or null. */
export function time(value: unknown): number | null {
  const at = typeof value === "string" ? Date.parse(value) : Number.NaN;
  return Number.isSafeInteger(at) && at >= 0 ? at : null;
}

/** A session's id as it may stand in a key: both programs use UUIDs; anything else that is printable and short is taken too. */
export function sessionId(value: unknown): string | null {
  return typeof value === "string" && /^[\w.:-]{1,128}$/.test(value) ? value : null;
}
