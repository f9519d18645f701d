import { mkdirSync, statSync } from "node:fs";
import type { ProviderConfig } from "../../../schemas/config.ts";
import type { ProviderCapabilities, ProviderInstanceId } from "../../../schemas/provider.ts";
import type { Clock } from "../../runtime/ports/clock.ts";
import { systemClock } from "../../runtime/system-clock.ts";
import type { LookupAnswer, LookupQuery, OpenSession, ProviderAdapter, ProviderSession } from "../contract.ts";
import { findCodexBinary } from "./binary.ts";
import { failure } from "./failure.ts";
import { lookUp } from "./history.ts";
import { openThread } from "./open.ts";
import { type Launch, type StartChild, startChild } from "./process.ts";
import type { OpenedThread } from "./protocol.ts";
import { CodexServer } from "./server.ts";
import { CodexSession, type CollaborationMode } from "./session.ts";

export type CodexAdapterOptions = {
  instance: ProviderInstanceId;
  config: Extract<ProviderConfig, { kind: "codex" }>;
  /** The instance's own folder, in which the process runs; made where it is missing. */
  stateDir: string;
  clock?: Clock;
  /** Starts the app-server; without: the real one. */
  startChild?: StartChild;
};

/**
 * Codex through its app-server (providers.md §1): one process per instance, started with the first conversation and again
 * after a crash, ended by `close` or with ours. Nothing is looked for or started before it is needed, so an instance whose
 * binary is missing can be configured; opening then rejects with reason `provider_not_installed`.
 */
export function createCodexAdapter(options: CodexAdapterOptions): ProviderAdapter {
  return new CodexAdapter(options);
}

/** Said once per process, so that no turn needs the network besides its model, waits for ever, or keeps a lock for long. */
const flags = [
  ...["plugins", "remote_plugin", "apps", "unbounded_connection_retries"].flatMap((feature) => ["--disable", feature]),
  // A thread is unloaded, and its writer lock freed, as soon as nobody listens.
  ...["-c", "thread_unload_delay_secs=0"],
  // Variables that look like keys, tokens and secrets are not handed to the agent's shell.
  ...["-c", "shell_environment_policy.ignore_default_excludes=false"],
];

class CodexAdapter implements ProviderAdapter {
  readonly instance: ProviderInstanceId;
  readonly #config: CodexAdapterOptions["config"];
  readonly #stateDir: string;
  readonly #server: CodexServer;
  #contextWindow: number | null = null;

  constructor({ instance, config, stateDir, clock = systemClock, startChild: start = startChild }: CodexAdapterOptions) {
    this.instance = instance;
    this.#config = config;
    this.#stateDir = stateDir;
    this.#server = new CodexServer(() => this.#launch(), start, clock);
  }

  get capabilities(): ProviderCapabilities {
    return { ...capabilities, contextWindow: this.#contextWindow };
  }

  async open(request: OpenSession, signal: AbortSignal): Promise<ProviderSession> {
    requireFolder(request.cwd);
    const connection = await this.#server.connect(signal);
    // Modes count from the moment of loading, so a thread that an earlier session left loaded is unloaded first.
    if (request.kind === "resume") await connection.listener(request.nativeRef.id)?.detach();
    const opened = await openThread(connection, request, request.model ?? this.#config.defaultModel ?? null, signal);
    return new CodexSession({
      connection,
      threadId: opened.thread.id,
      collaborationMode: collaborationMode(request, opened),
      contextWindow: (tokens) => {
        this.#contextWindow = tokens;
      },
    });
  }

  async lookup(query: LookupQuery): Promise<LookupAnswer> {
    try {
      const { peer } = await this.#server.connect(new AbortController().signal);
      return await lookUp(peer, query);
    } catch {
      // Who cannot be asked cannot tell.
      return { outcome: "unknown" };
    }
  }

  close(): Promise<void> {
    return this.#server.close();
  }

  #launch(): Launch {
    const { bin, home, env, extraArgs = [] } = this.#config;
    if (home !== undefined) mkdirSync(home, { recursive: true });
    return {
      bin: findCodexBinary({ bin }).path,
      args: ["app-server", ...flags, ...extraArgs],
      env: { ...(env ?? definedOf(process.env)), ...(home !== undefined && { CODEX_HOME: home }) },
      cwd: this.#stateDir,
    };
  }
}

const capabilities: Omit<ProviderCapabilities, "contextWindow"> = {
  nativeFork: "turn",
  rewind: "inPlace",
  contextInjection: "native",
  writerLock: true,
  processModel: "shared",
  appTools: "none",
  steering: false,
  interrupt: true,
  approvals: true,
  subagents: false,
  identity: { thread: "strong", turn: "strong", item: "weak" },
};

/** Codex opens a thread in a folder that is not there without a word (measured on 0.171.0), and its commands then fail. */
function requireFolder(cwd: string): void {
  if (statSync(cwd, { throwIfNoEntry: false })?.isDirectory()) return;
  throw failure("workspace_missing", `The working folder ${cwd} does not exist.`, "Restore it, or go on in another workspace.", {
    code: "invalid_request",
  });
}

/** What the next turn must say about plan mode; nothing where the thread is in the wanted mode already. */
function collaborationMode(
  { modes }: OpenSession,
  { model, reasoningEffort, collaborationMode: current }: OpenedThread,
): CollaborationMode | null {
  const mode = modes.interactionMode === "plan" ? "plan" : "default";
  if (mode === (current?.mode ?? "default") || model === undefined) return null;
  return { mode, settings: { model, reasoning_effort: reasoningEffort ?? null, developer_instructions: null } };
}

function definedOf(env: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined));
}
