import { createHash } from "node:crypto";
import { configure } from "safe-stable-stringify";

const canonical = configure({ deterministic: true, bigint: false, strict: true });

/** Canonical JSON: keys sorted at every level, absent members left out. */
function canonicalJson(value: unknown): string {
  return canonical(value) ?? "null";
}

/** SHA-256 of the canonical JSON of a parsed command, lower-case hex (decision 15). */
export function payloadDigest(value: unknown): string {
  return measuredDigest(value).digest;
}

export type MeasuredDigest = { digest: string; bytes: number };

const known = new WeakMap<object, MeasuredDigest>();

/** What was worked out elsewhere, off the main thread, of a value that nobody changes. */
export function rememberDigest(value: object, measured: MeasuredDigest): void {
  known.set(value, measured);
}

/** The same with the size of what was digested: bytes of UTF-8. */
export function measuredDigest(value: unknown): MeasuredDigest {
  const before = typeof value === "object" && value !== null ? known.get(value) : undefined;
  if (before !== undefined) return before;
  const json = canonicalJson(value);
  return { digest: createHash("sha256").update(json).digest("hex"), bytes: Buffer.byteLength(json) };
}
