import { limits } from "../../schemas/limits.ts";
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
  const body = new GatheredBody(maxBytes);
  try {
    for await (const chunk of request.body ?? []) {
      if (body.size + chunk.byteLength > maxBytes) throw tooLarge(maxBytes);
      body.add(chunk);
    }
  } catch (error) {
    // Who breaks off is seldom there to be told, and it is no fault of ours.
    throw error instanceof HttpRefusal ? error : invalid("cut_off", "the request ended in the middle of its body", "Send it again.");
  }
  return body.bytes();
}

/**
 * A body as it comes in. One that another thread will read is gathered in memory that both have: put together in the end, and
 * then copied to the other, it would hold everybody up twice.
 */
class GatheredBody {
  readonly #maxBytes: number;
  #chunks: Uint8Array[] = [];
  #shared: SharedArrayBuffer | null = null;
  size = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  add(chunk: Uint8Array): void {
    const at = this.size;
    this.size += chunk.byteLength;
    if (this.#shared === null && this.size <= limits.workerBodyBytes) {
      this.#chunks.push(chunk);
      return;
    }
    this.#shared ??= this.#move(at);
    this.#shared.grow(this.size);
    new Uint8Array(this.#shared).set(chunk, at);
  }

  bytes(): Uint8Array {
    if (this.#shared !== null) return new Uint8Array(this.#shared, 0, this.size);
    return this.#chunks.length === 1 ? (this.#chunks[0] as Uint8Array) : Buffer.concat(this.#chunks, this.size);
  }

  #move(size: number): SharedArrayBuffer {
    const shared = new SharedArrayBuffer(size, { maxByteLength: this.#maxBytes });
    new Uint8Array(shared).set(Buffer.concat(this.#chunks, size));
    this.#chunks = [];
    return shared;
  }
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
