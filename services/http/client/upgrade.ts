import type { Duplex } from "node:stream";
import { refusal } from "../../../schemas/refusal.ts";
import { EnvironmentRefused, EnvironmentUnreachable } from "./failures.ts";
import { findSocket } from "./find-socket.ts";
import { nodeHttp } from "./socket-transport.ts";

const answerMs = 30_000;

/**
 * A connection to the environment on a folder that becomes something else, e.g. MCP. Throws `EnvironmentUnreachable` when
 * nobody listens, and `EnvironmentRefused` when the environment will not have it.
 */
export function upgrade(dir: string, protocol: string, path: string, headers: Record<string, string> = {}): Promise<Duplex> {
  const socketPath = findSocket(dir);
  if (socketPath === null) return Promise.reject(new EnvironmentUnreachable(dir, `no environment is running on ${dir}`));
  return new Promise((resolve, reject) => {
    const outgoing = nodeHttp().request({
      socketPath,
      path,
      headers: { ...headers, connection: "Upgrade", upgrade: protocol },
      timeout: answerMs,
    });
    const fail = (message: string, cause?: unknown) => reject(new EnvironmentUnreachable(dir, message, { cause }));
    outgoing.once("upgrade", (_, socket, head) => {
      socket.setTimeout(0);
      if (head.length > 0) socket.unshift(head);
      resolve(socket);
    });
    outgoing.once("response", (incoming) => {
      incoming.resume();
      reject(new EnvironmentRefused(notTaken(incoming.statusCode ?? 0, protocol)));
    });
    outgoing.once("timeout", () => outgoing.destroy(new Error("no answer in time")));
    outgoing.once("error", (error) => fail(`the environment on ${dir} did not answer (${error.message})`, error));
    outgoing.end();
  });
}

function notTaken(status: number, protocol: string) {
  if (status === 401)
    return refusal(
      "capability_denied",
      "unknown_token",
      "the environment does not know this token",
      "It may be of a session that has ended.",
    );
  return refusal(
    "invalid_request",
    "not_upgraded",
    `the environment does not speak ${protocol} here (status ${status})`,
    "Restart it with this version: ropewalk down, then ropewalk up --detach.",
  );
}
