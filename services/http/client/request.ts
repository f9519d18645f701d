import type { Agent, IncomingMessage } from "node:http";
import { findSocket } from "../socket-path.ts";
import { EnvironmentUnreachable } from "./failures.ts";

/**
 * Not by `import`: that asks the module for each of its names, one of which loads a whole WebSocket client. A command of
 * the command line would spend a quarter of its time on it.
 */
export const http = process.getBuiltinModule("node:http");

export type Target = { dir: string; agent: Agent };
export type Call = {
  method: "GET" | "POST";
  path: string;
  body?: string;
  /** Without an answer for this long the call is given up. Milliseconds. */
  timeoutMs: number;
  signal?: AbortSignal | undefined;
};

/** More than any answer has; a larger one is not read. */
const maxAnswerBytes = 512 * 1024 * 1024;
/** What a connection says that was kept open for the next call and had been closed meanwhile, or whose process has ended. */
const cutCodes = new Set(["ECONNRESET", "EPIPE"]);
const absentCodes = new Set(["ENOENT", "ECONNREFUSED", "ENOTSOCK", "EACCES"]);

/**
 * The answer's head as soon as it is there. Every call may be made twice: reads change nothing, and a command's id makes a
 * repeat safe; so one that was cut off before its answer is made once more. Throws {@link EnvironmentUnreachable}.
 */
export async function call(target: Target, what: Call): Promise<IncomingMessage> {
  try {
    return await callOnce(target, what);
  } catch (error) {
    if (!cutCodes.has(codeOf(error)) || what.signal?.aborted === true) throw unreachable(target.dir, error);
  }
  try {
    return await callOnce(target, what);
  } catch (error) {
    throw unreachable(target.dir, error);
  }
}

function callOnce({ dir, agent }: Target, { method, path, body, timeoutMs, signal }: Call): Promise<IncomingMessage> {
  const socketPath = findSocket(dir);
  if (socketPath === null) throw Object.assign(new Error("no socket"), { code: "ENOENT" });
  const headers = body === undefined ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
  return new Promise((resolve, reject) => {
    const outgoing = http.request({ socketPath, method, path: `/v1${path}`, headers, agent, ...(signal !== undefined && { signal }) });
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

export async function readAll(dir: string, incoming: IncomingMessage): Promise<Buffer> {
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
