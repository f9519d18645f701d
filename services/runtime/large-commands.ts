import { Worker } from "node:worker_threads";
import { limits } from "../../schemas/limits.ts";
import { type ReadCommand, readCommandText } from "./command-text.ts";
import { type ParsedBody, parseBody } from "./json-text.ts";

/** Large bodies are read one at a time: each takes several times its size in memory. */
let before: Promise<unknown> = Promise.resolve();

/** Reads a command here, or in a worker when it has more than `workerBytes`. */
export function readCommand(json: string | Uint8Array, bytes: number, workerBytes: number): Promise<ReadCommand> {
  return bytes <= workerBytes ? Promise.resolve(readCommandText(json)) : inTurn(() => readAside<ReadCommand>("command", json));
}

/** {@link parseBody}, in a worker when the body has more than `limits.workerBodyBytes`. */
export function parseLargeBody(body: Uint8Array): Promise<ParsedBody> {
  return body.byteLength <= limits.workerBodyBytes ? Promise.resolve(parseBody(body)) : inTurn(() => readAside<ParsedBody>("json", body));
}

function inTurn<T>(read: () => Promise<T>): Promise<T> {
  const reading = before.then(read);
  before = reading.catch(() => {});
  return reading;
}

function readAside<T>(what: "json" | "command", body: string | Uint8Array): Promise<T> {
  // Flags of the caller's command line (`--eval` and its like) are not for a worker.
  const worker = new Worker(new URL(`./body-worker${import.meta.url.slice(-3)}`, import.meta.url), { execArgv: [] });
  return new Promise<T>((resolve, reject) => {
    worker.once("message", resolve);
    worker.once("error", reject);
    worker.once("exit", () => reject(new Error("the reader of a large body ended early")));
    worker.postMessage({ what, body });
  }).finally(() => worker.terminate());
}
