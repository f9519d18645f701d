import type { Content } from "../../../schemas/item.ts";
import type { Environment } from "../../runtime/environment-api.ts";

/** A text as an agent is given it: bounded, and its whole size in bytes of UTF-8 where it was cut. */
export type Clipped = { text: string; cutFromBytes?: number };

export function clip(text: string, maxChars: number): Clipped {
  if (text.length <= maxChars) return { text };
  return { text: text.slice(0, maxChars).toWellFormed(), cutFromBytes: Buffer.byteLength(text) };
}

/** Reads no more of a large text than is asked for. */
export function readContent(environment: Environment, content: Content, maxChars: number): Clipped {
  if ("text" in content) return clip(content.text, maxChars);
  const { blob } = content;
  if (blob.preview.length >= maxChars) return { ...clip(blob.preview, maxChars), cutFromBytes: blob.bytes };
  const bytes = environment.threads.blob(blob.digest);
  if (bytes === null) return { text: blob.preview, cutFromBytes: blob.bytes };
  // A character has four bytes at most; one that is cut in two is left out.
  const part = bytes.byteLength <= maxChars ? bytes : bytes.subarray(0, maxChars * 4);
  const text = new TextDecoder().decode(part, { stream: true });
  if (text.length <= maxChars && part.byteLength === bytes.byteLength) return { text };
  return { text: text.slice(0, maxChars).toWellFormed(), cutFromBytes: blob.bytes };
}

/** The whole of it, however large. */
export function wholeContent(environment: Environment, content: Content): string {
  if ("text" in content) return content.text;
  const bytes = environment.threads.blob(content.blob.digest);
  return bytes === null ? content.blob.preview : new TextDecoder().decode(bytes);
}
