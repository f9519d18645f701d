import { Worker } from "node:worker_threads";
import { type ReadCommand, readCommandText } from "./command-text.ts";

/** Large bodies are read one at a time: each takes several times its size in memory. */
let before: Promise<unknown> = Promise.resolve();

/** Reads a command here, or in a worker when it has more than `workerBytes`. */
export function readCommand(json: string | Uint8Array, bytes: number, workerBytes: number): Promise<ReadCommand> {
  if (bytes <= workerBytes) return Promise.resolve(readCommandText(json));
  const reading = before.then(() => readAside(json));
  before = reading.catch(() => {});
  return reading;
}

function readAside(json: string | Uint8Array): Promise<ReadCommand> {
  // Flags of the caller's command line (`--eval` and its like) are not for a worker.
  const worker = new Worker(new URL(`./body-worker${import.meta.url.slice(-3)}`, import.meta.url), { execArgv: [] });
  return new Promise<ReadCommand>((resolve, reject) => {
    worker.once("message", resolve);
    worker.once("error", reject);
    worker.once("exit", () => reject(new Error("the reader of a large body ended early")));
    worker.postMessage(json);
  }).finally(() => worker.terminate());
}
