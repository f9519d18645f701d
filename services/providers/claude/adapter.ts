import { mkdirSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type { ProviderCapabilities, ProviderInstanceId } from "../../../schemas/provider.ts";
import type { Clock } from "../../runtime/ports/clock.ts";
import { systemClock } from "../../runtime/system-clock.ts";
import type { LookupAnswer, LookupQuery, OpenSession, ProviderAdapter, ProviderSession } from "../contract.ts";
import { type StartAgent, startThrough } from "./agent.ts";
import { asFailure, failure, openAborted } from "./failure.ts";
import { lookUp } from "./lookup.ts";
import { type ClaudeConfig, environmentOf, openedHow } from "./options.ts";
import { rewindPoint } from "./rewind.ts";
import { loadSdk, namedBinary } from "./sdk.ts";
import { ClaudeSession } from "./session.ts";
import { hasEntry, sessionFile } from "./session-file.ts";
import { redactor } from "./spawn.ts";
import { Strays } from "./strays.ts";
import { writersOf } from "./writers.ts";

export type ClaudeAdapterOptions = {
  instance: ProviderInstanceId;
  config: ClaudeConfig;
  /** The instance's own folder; made where it is missing. */
  stateDir: string;
  clock?: Clock;
  /** Starts Claude Code; without: through the SDK. */
  startAgent?: StartAgent;
};

/**
 * Claude Code through the Agent SDK (providers.md §2, decision 0118): a process for each session. Nothing is looked for or
 * started before it is needed, so an instance can be configured where the SDK is missing; opening then rejects with reason
 * `provider_not_installed`.
 */
export function createClaudeAdapter(options: ClaudeAdapterOptions): ProviderAdapter {
  return new ClaudeAdapter(options);
}

const defaultIdleMs = 5 * 60_000;
/** What was just said may not be written down yet; another process may still be about to end. */
const tries = 100;
const pauseMs = 50;

const capabilities: Omit<ProviderCapabilities, "contextWindow"> = {
  nativeFork: "message",
  rewind: "inPlace",
  contextInjection: "text",
  writerLock: false,
  processModel: "per-session",
  appTools: "mcp-http",
  steering: false,
  interrupt: true,
  approvals: true,
  subagents: false,
  identity: { thread: "strong", turn: "strong", item: "weak" },
};

class ClaudeAdapter implements ProviderAdapter {
  readonly instance: ProviderInstanceId;
  readonly #config: ClaudeConfig;
  readonly #clock: Clock;
  readonly #strays: Strays;
  readonly #sessions = new Map<string, ClaudeSession>();
  #start: Promise<StartAgent> | null = null;
  #contextWindow: number | null = null;
  #closed = false;

  constructor({ instance, config, stateDir, clock = systemClock, startAgent }: ClaudeAdapterOptions) {
    this.instance = instance;
    this.#config = config;
    this.#clock = clock;
    this.#strays = new Strays(stateDir);
    if (startAgent !== undefined) this.#start = Promise.resolve(startAgent);
  }

  get capabilities(): ProviderCapabilities {
    return { ...capabilities, contextWindow: this.#contextWindow };
  }

  async open(request: OpenSession, signal: AbortSignal): Promise<ProviderSession> {
    this.#requireOpen();
    requireFolder(request.cwd);
    const bin = namedBinary(this.#config.bin);
    const env = environmentOf(this.#config);
    const start = await this.#starter();
    await this.#strays.endAll();
    if (request.kind === "fork") await this.#requireEntry(request.nativeRef.id, request.turnRef.id, signal);
    // Modes count from the moment of opening; and no session has two processes.
    if (request.kind === "resume") await this.#sessions.get(request.nativeRef.id)?.detach();
    this.#requireOpen();
    if (signal.aborted) throw openAborted();
    if (this.#config.home !== undefined) mkdirSync(this.#config.home, { recursive: true, mode: 0o700 });
    const rewindTo = await this.#rewindTo(request);
    const session = new ClaudeSession(openedHow(request, this.#config, { env, bin, rewindTo }), {
      clock: this.#clock,
      idleMs: this.#config.idleMs ?? defaultIdleMs,
      start,
      requireAlone: (sessionId, aborted) => this.#requireAlone(sessionId, aborted),
      note: (mark) => this.#strays.note(mark),
      forget: (mark) => this.#strays.forget(mark),
      redact: redactor(env),
      contextWindow: (tokens) => {
        this.#contextWindow = tokens;
      },
      letGo: (gone) => {
        if (this.#sessions.get(gone.nativeRef.id) === gone) this.#sessions.delete(gone.nativeRef.id);
      },
    });
    this.#sessions.set(session.nativeRef.id, session);
    try {
      await session.open(signal);
    } catch (cause) {
      await session.detach();
      throw asFailure(cause);
    }
    return session;
  }

  async lookup(query: LookupQuery): Promise<LookupAnswer> {
    try {
      await this.#strays.endAll();
      return await lookUp(this.#configDir, query);
    } catch {
      // Who cannot be asked cannot tell.
      return { outcome: "unknown" };
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#sessions.values()].map((session) => session.detach()));
  }

  get #configDir(): string {
    const env = environmentOf(this.#config);
    return env.CLAUDE_CONFIG_DIR ?? join(env.HOME ?? homedir(), ".claude");
  }

  #starter(): Promise<StartAgent> {
    this.#start ??= loadSdk({ folder: this.#config.sdk })
      .then(startThrough)
      .catch((cause: unknown) => {
        // It may be installed while we run.
        this.#start = null;
        throw asFailure(cause);
      });
    return this.#start;
  }

  #requireOpen(): void {
    if (this.#closed) throw failure("provider_closed", "This provider instance is closed.", "Start the environment again.");
  }

  /** Looked up while nobody writes to the session. */
  async #rewindTo(request: OpenSession): Promise<string | null> {
    if (request.kind !== "resume" || request.rewind === undefined) return null;
    const path = sessionFile(this.#configDir, request.nativeRef.id);
    if (path === null) {
      throw failure(
        "native_thread_not_found",
        "Claude does not have this conversation.",
        "Send again: the history is then told to a new one.",
        {
          openFailed: true,
        },
      );
    }
    return rewindPoint(path, request.rewind);
  }

  /** Claude writes down a little later than it speaks, and would fork what it has found. */
  async #requireEntry(sessionId: string, uuid: string, signal: AbortSignal): Promise<void> {
    for (let attempt = 0; attempt < tries && !signal.aborted; attempt++) {
      const path = sessionFile(this.#configDir, sessionId);
      if (path !== null && (await hasEntry(path, uuid))) return;
      if (!this.#sessions.has(sessionId)) break;
      await this.#pause();
    }
    if (signal.aborted) throw openAborted();
    throw failure(
      "native_fork_refused",
      "Claude's session does not have the turn that it was to be forked at.",
      "Send again: the history is then told instead.",
      { openFailed: true },
    );
  }

  async #requireAlone(sessionId: string, signal: AbortSignal): Promise<void> {
    for (let attempt = 0; attempt < tries && !signal.aborted; attempt++) {
      if (writersOf(this.#configDir, sessionId).length === 0) return;
      await this.#pause();
    }
    if (signal.aborted) throw openAborted();
    const [pid] = writersOf(this.#configDir, sessionId);
    throw failure(
      "native_thread_in_use",
      `Claude Code has this conversation open in another process (${pid}).`,
      "Close this conversation in the other Claude Code, then send again.",
    );
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => this.#clock.after(pauseMs, () => resolve()));
  }
}

function requireFolder(cwd: string): void {
  if (statSync(cwd, { throwIfNoEntry: false })?.isDirectory()) return;
  throw failure("workspace_missing", `The working folder ${cwd} does not exist.`, "Restore it, or go on in another workspace.", {
    code: "invalid_request",
  });
}
