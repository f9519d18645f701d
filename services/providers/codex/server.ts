import type { Clock } from "../../runtime/ports/clock.ts";
import { abortable, within } from "../abortable.ts";
import type { ProviderFailure } from "../contract.ts";
import { asFailure, failure } from "./failure.ts";
import { CodexProcess, type Launch, type StartChild } from "./process.ts";
import type { RpcId, ThreadFrame } from "./protocol.ts";
import type { RpcPeer } from "./rpc.ts";

/** Who hears what belongs to a native thread. */
export type ThreadListener = {
  notified(method: string, frame: ThreadFrame): void;
  asked(id: RpcId, method: string, frame: ThreadFrame): void;
  /** The process has ended; `closed` when we ended it. */
  died(cause: ProviderFailure, closed: boolean): void;
  /** Lets go of the thread, so that it can be opened anew with other modes. */
  detach(): Promise<void>;
};

const startTimeoutMs = 30_000;
/** A process that left one request unanswered is asked something cheap; without an answer to that either it is killed. */
const probeTimeoutMs = 10_000;
/** The first version whose threads are what this adapter relies on: paginated, forked at a turn (providers.md §1.3). */
const oldest = [0, 156] as const;

/** The app-server of one instance: one process for all its threads, started when it is first needed and again after its end. */
export class CodexServer {
  readonly #launch: () => Launch;
  readonly #start: StartChild;
  readonly #clock: Clock;
  #current: Promise<Connection> | null = null;
  #process: CodexProcess | null = null;
  #closed = false;

  constructor(launch: () => Launch, start: StartChild, clock: Clock) {
    this.#launch = launch;
    this.#start = start;
    this.#clock = clock;
  }

  /** The connection to the running process; starts one where there is none. Rejects with a `ProviderFailure`. */
  connect(signal: AbortSignal): Promise<Connection> {
    if (this.#closed)
      return Promise.reject(failure("provider_closed", "This provider instance is closed.", "Start the environment again."));
    this.#current ??= this.#connect().catch((cause: unknown) => {
      this.#current = null;
      throw asFailure(cause);
    });
    return abortable(this.#current, signal, () => failure("open_aborted", "Opening the conversation was given up.", "Send again."));
  }

  /** Ends the process; resolves when there is none. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#process?.stop();
    await this.#current?.catch(() => undefined);
  }

  async #connect(): Promise<Connection> {
    const launch = this.#launch();
    const threads = new Map<string, ThreadListener>();
    const process: CodexProcess = new CodexProcess(
      this.#start,
      launch,
      {
        notification: (method, params) => listenerOf(threads, params)?.notified(method, params as ThreadFrame),
        request: (id, method, params) => {
          const listener = listenerOf(threads, params);
          if (listener) listener.asked(id, method, params as ThreadFrame);
          else process.peer.refuse(id, `nobody here answers ${method}`);
        },
        timedOut: () => void this.#probe(process),
        broken: () => void process.kill(),
      },
      this.#clock,
    );
    this.#process = process;
    void process.ended.then((cause) => {
      if (this.#process === process) {
        this.#process = null;
        this.#current = null;
      }
      for (const listener of new Set(threads.values())) listener.died(cause, this.#closed);
      threads.clear();
    });
    try {
      const { userAgent } = await process.peer.request<{ userAgent?: string }>(
        "initialize",
        {
          clientInfo: { name: "ropewalk", title: "ropewalk", version: "0.1.0" },
          capabilities: { experimentalApi: true },
        },
        startTimeoutMs,
      );
      requireVersion(userAgent ?? "");
      process.peer.notify("initialized");
    } catch (cause) {
      await process.stop();
      throw cause;
    }
    return new Connection(process, threads, this.#clock);
  }

  async #probe(process: CodexProcess): Promise<void> {
    const answer = process.peer.request("thread/loaded/list", { limit: 1 }, probeTimeoutMs * 2);
    const answered = answer.then(
      () => true,
      () => true,
    );
    if (!(await within((ms, callback) => this.#clock.after(ms, callback), probeTimeoutMs, answered))) await process.kill();
  }
}

/** One running app-server, and who listens to which of its threads. */
export class Connection {
  readonly peer: RpcPeer;
  readonly #process: CodexProcess;
  readonly #threads: Map<string, ThreadListener>;
  readonly clock: Clock;

  constructor(process: CodexProcess, threads: Map<string, ThreadListener>, clock: Clock) {
    this.peer = process.peer;
    this.#process = process;
    this.#threads = threads;
    this.clock = clock;
  }

  listener(threadId: string): ThreadListener | undefined {
    return this.#threads.get(threadId);
  }

  /** From now on `listener` hears of the thread; also of a child that the thread's agent spawned. */
  listen(threadId: string, listener: ThreadListener): void {
    this.#threads.set(threadId, listener);
  }

  /** `listener` hears nothing any more. */
  forget(listener: ThreadListener): void {
    for (const [threadId, held] of this.#threads) if (held === listener) this.#threads.delete(threadId);
  }

  redact(text: string): string {
    return this.#process.redact(text);
  }

  /** Waits for `work`, at most `ms`; tells whether it came in time. */
  within(ms: number, work: Promise<unknown>): Promise<boolean> {
    return within((wait, callback) => this.clock.after(wait, callback), ms, work);
  }

  pause(ms: number): Promise<void> {
    return new Promise((resolve) => this.clock.after(ms, resolve));
  }
}

function listenerOf(threads: Map<string, ThreadListener>, params: unknown): ThreadListener | undefined {
  const threadId = (params as ThreadFrame | null | undefined)?.threadId;
  return typeof threadId === "string" ? threads.get(threadId) : undefined;
}

/** `ropewalk/0.171.0 (Debian …)`; a version that cannot be read is given the benefit of the doubt. */
function requireVersion(userAgent: string): void {
  const found = /\/(\d+)\.(\d+)\.\d+/.exec(userAgent);
  if (found === null) return;
  const [major, minor] = [Number(found[1]), Number(found[2])];
  if (major > oldest[0] || (major === oldest[0] && minor >= oldest[1])) return;
  throw failure(
    "provider_too_old",
    `Codex ${major}.${minor} is too old; ${oldest.join(".")} or later is needed.`,
    "Update it with `npm install -g @openai/codex@latest`.",
  );
}
