import { createHash } from "node:crypto";

/** SHA-256 of a message's plain body, lower-case hex. Text is taken as UTF-8. */
export function contentDigest(body: string | Uint8Array): string {
  return createHash("sha256").update(body).digest("hex");
}

/**
 * The next value of a direction's running digest: SHA-256 over the previous value and the message's own digest, both as
 * hex. Starts from `digestOrigin`. Two stores with equal values at one number have had the same messages up to it.
 */
export function nextLinkDigest(previous: string, content: string): string {
  return createHash("sha256").update(previous).update(content).digest("hex");
}
