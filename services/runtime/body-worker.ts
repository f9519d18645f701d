import { parentPort } from "node:worker_threads";
import { readCommandText } from "./command-text.ts";
import { parseBody } from "./json-text.ts";

/** Reads one large body away from the main thread (decision 17), as JSON or also as a command with its digests; then ends. */
parentPort?.once("message", ({ what, body }: { what: "json" | "command"; body: string | Uint8Array }) => {
  // Memory that both threads have is not decoded as it stands.
  const own = typeof body === "string" ? body : new Uint8Array(body);
  parentPort?.postMessage(what === "command" ? readCommandText(own) : parseBody(own));
});
