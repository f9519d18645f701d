import { parentPort } from "node:worker_threads";
import { parseBody } from "../runtime/json-text.ts";

/** Parses one large body away from the main thread (decision 17), then ends. */
parentPort?.once("message", (bytes: Uint8Array) => {
  parentPort?.postMessage(parseBody(bytes));
});
