import { parentPort } from "node:worker_threads";
import { readCommandText } from "./command-text.ts";

/** Reads, checks and digests one large command away from the main thread (decision 17), then ends. */
parentPort?.once("message", (body: string | Uint8Array) => parentPort?.postMessage(readCommandText(body)));
