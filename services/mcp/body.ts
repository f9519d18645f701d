import { isJsonContentType, readRequestBody } from "@modelcontextprotocol/server";
import type { Refusal } from "../../schemas/refusal.ts";
import { rpcError } from "./rpc-error.ts";

/** Reads a request's JSON; throws an error with a `refusal` for what cannot be read. The composition root has one that keeps large bodies off the main thread. */
export type BodyReader = (request: Request, maxBytes: number) => Promise<unknown>;

export type ReadBody = { ok: true; value: unknown } | { ok: false; response: Response };

/** The JSON of a POST, or the answer to one that has none. */
export async function bodyOf(request: Request, maxBytes: number, reader: BodyReader | undefined): Promise<ReadBody> {
  if (!isJsonContentType(request.headers.get("content-type")))
    return { ok: false, response: rpcError(415, -32_000, "the content type must be application/json") };
  try {
    if (reader !== undefined) return { ok: true, value: await reader(request, maxBytes) };
    const body = await readRequestBody(request, maxBytes);
    if (body.tooLarge) return { ok: false, response: tooLarge(maxBytes) };
    return { ok: true, value: JSON.parse(body.text) };
  } catch (error) {
    const refusal = (error as { refusal?: Refusal }).refusal;
    if (refusal?.reason === "too_large") return { ok: false, response: tooLarge(maxBytes) };
    return { ok: false, response: rpcError(400, -32_700, refusal?.message ?? "the body is not JSON") };
  }
}

const tooLarge = (maxBytes: number) => rpcError(413, -32_600, `the request is larger than ${maxBytes} bytes`);
