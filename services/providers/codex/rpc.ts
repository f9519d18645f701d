import type { Readable, Writable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import type { Clock } from "../../runtime/ports/clock.ts";
import type { ProviderFailure } from "../contract.ts";
import { failure, RpcError } from "./failure.ts";
import type { RpcId } from "./protocol.ts";

/** Longest frame that is read. A longer one means that the other side is not what we think it is. */
const maxFrameChars = 256 * 1024 * 1024;
const requestTimeoutMs = 60_000;

export type RpcHandlers = {
  notification(method: string, params: unknown): void;
  /** A request of the other side; it waits until `respond` or `refuse` is called with its id. */
  request(id: RpcId, method: string, params: unknown): void;
  /** A request of ours was not answered in time. */
  timedOut(method: string): void;
  /** What came cannot be a frame of this protocol. */
  broken(reason: string): void;
};

type Pending = { method: string; resolve: (result: unknown) => void; reject: (cause: Error) => void; cancelTimer: () => void };
type Frame = { id?: RpcId; method?: string; params?: unknown; result?: unknown; error?: { code?: number; message?: string } };

/**
 * Newline-delimited JSON over a pair of pipes, both sides asking and telling (JSON-RPC without its version member). Frames
 * are handled in the order in which they came, each one whole before the next.
 */
export class RpcPeer {
  readonly #output: Writable;
  readonly #handlers: RpcHandlers;
  readonly #clock: Clock;
  readonly #pending = new Map<RpcId, Pending>();
  #lastId = 0;
  #over: ProviderFailure | null = null;

  constructor(pipes: { input: Readable; output: Writable }, handlers: RpcHandlers, clock: Clock) {
    this.#output = pipes.output;
    this.#handlers = handlers;
    this.#clock = clock;
    // A broken pipe is told by the exit of the process, not here.
    pipes.output.on("error", () => undefined);
    pipes.input.on("error", () => undefined);
    readLines(pipes.input, (line) => this.#receive(line), handlers.broken);
  }

  /** True once the process has ended. */
  get over(): boolean {
    return this.#over !== null;
  }

  /**
   * Asks, and resolves with the result. Rejects with {@link RpcError} when the other side refuses, with a `ProviderFailure`
   * when it does not answer within `timeoutMs` or its process ends.
   */
  request<T>(method: string, params: unknown, timeoutMs = requestTimeoutMs): Promise<T> {
    if (this.#over) return Promise.reject(this.#over);
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise<T>((resolve, reject) => {
      const cancelTimer = this.#clock.after(timeoutMs, () => {
        this.#pending.delete(id);
        reject(failure("provider_not_answering", `Codex did not answer ${method} within ${timeoutMs / 1000} s.`, "Send again."));
        this.#handlers.timedOut(method);
      });
      this.#pending.set(id, { method, resolve: resolve as (result: unknown) => void, reject, cancelTimer });
      this.#send({ id, method, params });
    });
  }

  notify(method: string): void {
    this.#send({ method });
  }

  respond(id: RpcId, result: unknown): void {
    this.#send({ id, result });
  }

  refuse(id: RpcId, message: string): void {
    this.#send({ id, error: { code: -32601, message } });
  }

  /** The process has ended: whatever waits, and whatever asks from now on, is rejected with `cause`. */
  end(cause: ProviderFailure): void {
    if (this.#over) return;
    this.#over = cause;
    for (const pending of this.#pending.values()) {
      pending.cancelTimer();
      pending.reject(cause);
    }
    this.#pending.clear();
  }

  #send(frame: Record<string, unknown>): void {
    if (this.#over === null && this.#output.writable) this.#output.write(`${JSON.stringify(frame)}\n`);
  }

  #receive(line: string): void {
    if (this.#over) return;
    const frame = parse(line);
    if (frame === null) return;
    if (frame.method !== undefined) {
      if (frame.id === undefined) this.#handlers.notification(frame.method, frame.params);
      else this.#handlers.request(frame.id, frame.method, frame.params);
      return;
    }
    const pending = frame.id === undefined ? undefined : this.#pending.get(frame.id);
    if (frame.id === undefined || pending === undefined) return;
    this.#pending.delete(frame.id);
    pending.cancelTimer();
    if (frame.error === undefined) pending.resolve(frame.result);
    else pending.reject(new RpcError(pending.method, frame.error.code ?? 0, frame.error.message ?? "no reason given"));
  }
}

/** A line that is no frame (a stray print of a library) is passed over. */
function parse(line: string): Frame | null {
  if (!line.startsWith("{")) return null;
  try {
    return JSON.parse(line) as Frame;
  } catch {
    return null;
  }
}

function readLines(input: Readable, onLine: (line: string) => void, broken: (reason: string) => void): void {
  const decoder = new StringDecoder("utf8");
  let parts: string[] = [];
  let size = 0;
  input.on("data", (chunk: Buffer) => {
    const pieces = decoder.write(chunk).split("\n");
    for (const [index, piece] of pieces.entries()) {
      if (index > 0) {
        const line = parts.join("");
        parts = [];
        size = 0;
        if (line !== "") onLine(line);
      }
      size += piece.length;
      if (piece !== "") parts.push(piece);
    }
    if (size > maxFrameChars) {
      parts = [];
      size = 0;
      broken(`a frame is longer than ${maxFrameChars} characters`);
    }
  });
}
