import { createHash } from "node:crypto";
import { configure } from "safe-stable-stringify";

const canonical = configure({ deterministic: true, bigint: false, strict: true });

/** Canonical JSON: keys sorted at every level, absent members left out. */
export function canonicalJson(value: unknown): string {
  return canonical(value) ?? "null";
}

/** SHA-256 of the canonical JSON of a parsed command, lower-case hex (decision 15). */
export function payloadDigest(value: unknown): string {
  return createHash("sha256").update(canonicalJson(value)).digest("hex");
}
