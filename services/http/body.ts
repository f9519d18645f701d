import { Worker } from "node:worker_threads";
import { limits } from "../../schemas/limits.ts";
import { type ParsedBody, parseBody } from "../runtime/json-text.ts";
import { invalid } from "./statuses.ts";

/** The parsed JSON of a request's body. Throws the refusal of one that is larger than `maxBytes`, cut off, or not JSON. */
export async function readJson(request: Request, maxBytes: number): Promise<unknown> {
  const bytes = await readBytes(request, maxBytes);
  const body = bytes.byteLength > limits.workerBodyBytes ? await parseAside(bytes) : parseBody(bytes);
  if (body.ok) return body.value;
  throw invalid(body.reason, body.message, "Send one JSON document in UTF-8; nothing was done.");
}

async function readBytes(request: Request, maxBytes: number): Promise<Uint8Array> {
  if (Number(request.headers.get("content-length") ?? 0) > maxBytes) throw tooLarge(maxBytes);
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body ?? []) {
    size += chunk.byteLength;
    if (size > maxBytes) throw tooLarge(maxBytes);
    chunks.push(chunk);
  }
  return chunks.length === 1 ? (chunks[0] as Uint8Array) : Buffer.concat(chunks, size);
}

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

function parseAside(bytes: Uint8Array): Promise<ParsedBody> {
  const worker = new Worker(new URL(`./body-worker${import.meta.url.slice(-3)}`, import.meta.url), { execArgv: [] });
  return new Promise<ParsedBody>((resolve, reject) => {
    worker.once("message", resolve);
    worker.once("error", reject);
    worker.once("exit", () => reject(new Error("the parser of a large body ended early")));
    // A copy of its own, since Node's small buffers share one pool that must not be given away.
    const own = new Uint8Array(bytes);
    worker.postMessage(own, [own.buffer]);
  }).finally(() => worker.terminate());
}
