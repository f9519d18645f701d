import type { Agent, IncomingMessage } from "node:http";
import { EnvironmentUnreachable } from "./failures.ts";
import { findSocket } from "./find-socket.ts";
import { type Answered, type Call, maxAnswerBytes, type Transport } from "./transport.ts";

/**
 * Not by `import`: that asks the module for each of its names, one of which loads a whole WebSocket client, for a quarter
 * of a command's time; and a client that speaks to an address also runs where there is no Node.
 */
export const nodeHttp = () => process.getBuiltinModule("node:http");

/** What a connection says that was kept open for the next call and had been closed meanwhile, or whose process has ended. */
const cutCodes = new Set(["ECONNRESET", "EPIPE"]);
const absentCodes = new Set(["ENOENT", "ECONNREFUSED", "ENOTSOCK", "EACCES"]);

/** Speaks to the environment that runs on a folder, over its unix socket. */
export class SocketTransport implements Transport {
  readonly where: string;
  readonly #agent: Agent;

  constructor(dir: string) {
    this.where = dir;
    this.#agent = new (nodeHttp().Agent)({ keepAlive: true, maxSockets: 4 });
  }

  close(): void {
    this.#agent.destroy();
  }

  async call(what: Call, alone = false): Promise<Answered> {
    const agent = alone ? new (nodeHttp().Agent)({ maxSockets: 1 }) : this.#agent;
    try {
      return answered(this.where, await callOnce(this.where, agent, what));
    } catch (error) {
      if (!cutCodes.has(codeOf(error)) || what.signal?.aborted === true) throw unreachable(this.where, error);
    }
    try {
      return answered(this.where, await callOnce(this.where, agent, what));
    } catch (error) {
      throw unreachable(this.where, error);
    }
  }
}

function callOnce(dir: string, agent: Agent, { method, path, body, timeoutMs, signal }: Call): Promise<IncomingMessage> {
  const socketPath = findSocket(dir);
  if (socketPath === null) throw Object.assign(new Error("no socket"), { code: "ENOENT" });
  const headers = body === undefined ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
  return new Promise((resolve, reject) => {
    const outgoing = nodeHttp().request({
      socketPath,
      method,
      path: `/v1${path}`,
      headers,
      agent,
      ...(signal !== undefined && { signal }),
    });
    const late = setTimeout(
      () => outgoing.destroy(Object.assign(new Error(`no answer within ${timeoutMs / 1000} s`), { code: "ETIMEDOUT" })),
      timeoutMs,
    );
    // An answer counts also when it came before all was sent: that is how too large a body is refused.
    outgoing.once("response", (incoming) => {
      clearTimeout(late);
      resolve(incoming);
    });
    outgoing.on("error", (error) => {
      clearTimeout(late);
      reject(error);
    });
    outgoing.end(body);
  });
}

function answered(dir: string, incoming: IncomingMessage): Answered {
  return {
    status: incoming.statusCode ?? 0,
    bytes: () => readAll(dir, incoming),
    pieces() {
      incoming.setEncoding("utf8");
      return quietly(incoming as AsyncIterable<string>);
    },
    drop: () => void incoming.destroy(),
  };
}

async function* quietly(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  try {
    yield* pieces;
  } catch {
    // Broken off: the caller comes back for the rest.
  }
}

async function readAll(dir: string, incoming: IncomingMessage): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of incoming) {
      size += chunk.length;
      if (size > maxAnswerBytes) throw new Error(`the answer is larger than ${maxAnswerBytes} bytes`);
      chunks.push(chunk);
    }
  } catch (error) {
    throw unreachable(dir, error);
  }
  return Buffer.concat(chunks);
}

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? "";

function unreachable(dir: string, error: unknown): Error {
  const code = codeOf(error);
  if (code === "ABORT_ERR") return error as Error;
  if (absentCodes.has(code)) return new EnvironmentUnreachable(dir, `no environment is running on ${dir}`, { cause: error });
  if (code === "ETIMEDOUT")
    return new EnvironmentUnreachable(dir, `the environment on ${dir} gave ${(error as Error).message}`, { cause: error });
  return new EnvironmentUnreachable(dir, `the environment on ${dir} stopped answering (${(error as Error).message})`, { cause: error });
}
