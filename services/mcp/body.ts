import { isJsonContentType } from "@modelcontextprotocol/server";
import type { Refusal } from "../../schemas/refusal.ts";
import { parseBody } from "../runtime/json-text.ts";
import { rpcError } from "./rpc-error.ts";

/** Reads a request's JSON, or throws an error with a `refusal`. The composition root's keeps large bodies off the main thread. */
export type BodyReader = (request: Request, maxBytes: number) => Promise<unknown>;

export type ReadBody = { ok: true; value: unknown } | { ok: false; response: Response };

/** The JSON of a POST, or the answer to one that has none. */
export async function bodyOf(request: Request, maxBytes: number, reader: BodyReader | undefined): Promise<ReadBody> {
  if (!isJsonContentType(request.headers.get("content-type")))
    return { ok: false, response: rpcError(415, -32_000, "the content type must be application/json") };
  try {
    if (reader !== undefined) return { ok: true, value: await reader(request, maxBytes) };
    const bytes = await readBytes(request, maxBytes);
    if (bytes === null) return { ok: false, response: tooLarge(maxBytes) };
    const body = parseBody(bytes);
    return body.ok ? body : { ok: false, response: rpcError(400, -32_700, body.message) };
  } catch (error) {
    const refusal = (error as { refusal?: Refusal }).refusal;
    if (refusal?.reason === "too_large") return { ok: false, response: tooLarge(maxBytes) };
    return { ok: false, response: rpcError(400, -32_700, refusal?.message ?? "the body could not be read") };
  }
}

/** Null for more than is taken. */
async function readBytes(request: Request, maxBytes: number): Promise<Uint8Array | null> {
  if (Number(request.headers.get("content-length") ?? 0) > maxBytes) return null;
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body ?? []) {
    size += chunk.byteLength;
    if (size > maxBytes) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size);
}

const tooLarge = (maxBytes: number) => rpcError(413, -32_600, `the request is larger than ${maxBytes} bytes`);
