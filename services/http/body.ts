import { refusal } from "../../schemas/refusal.ts";
import { parseLargeBody } from "../runtime/large-commands.ts";
import { HttpRefusal, invalid } from "./statuses.ts";

/** A request's JSON as the bytes that came. Throws the refusal of what is no plain JSON, or larger than `maxBytes`. */
export async function readBytes(request: Request, maxBytes: number): Promise<Uint8Array> {
  const type = request.headers.get("content-type");
  if (type !== null && !/^application\/([\w.-]+\+)?json\s*(;|$)/i.test(type)) throw wrongType(`a body of type ${type}`);
  const encoding = request.headers.get("content-encoding") ?? "identity";
  if (encoding.trim().toLowerCase() !== "identity") throw wrongType(`a body that is encoded as ${encoding}`);
  if (Number(request.headers.get("content-length") ?? 0) > maxBytes) throw tooLarge(maxBytes);
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of request.body ?? []) {
      size += chunk.byteLength;
      if (size > maxBytes) throw tooLarge(maxBytes);
      chunks.push(chunk);
    }
  } catch (error) {
    // Who breaks off is seldom there to be told, and it is no fault of ours.
    throw error instanceof HttpRefusal ? error : invalid("cut_off", "the request ended in the middle of its body", "Send it again.");
  }
  return chunks.length === 1 ? (chunks[0] as Uint8Array) : Buffer.concat(chunks, size);
}

/** The same, parsed; a large one off the main thread. Throws also the refusal of what is cut off or no JSON. */
export async function readJson(request: Request, maxBytes: number): Promise<unknown> {
  const body = await parseLargeBody(await readBytes(request, maxBytes));
  if (body.ok) return body.value;
  throw invalid(body.reason, body.message, "Send one JSON document in UTF-8; nothing was done.");
}

const wrongType = (what: string) =>
  new HttpRefusal(refusal("invalid_request", "wrong_media_type", `${what} is not read here`, "Send application/json as it is."));

const tooLarge = (maxBytes: number) =>
  invalid(
    "too_large",
    `the request is larger than ${maxBytes} bytes`,
    "Send less at once, or raise limits.importRequestBytes in config.json.",
    {
      limit: "importRequestBytes",
      maxBytes,
    },
  );
