import type { AgentOptions, Frame, PermissionAnswer, PermissionRequest, PermissionUpdate, UserMessage } from "./protocol.ts";
import type { ClaudeSdk } from "./sdk.ts";
import { type Exit, type SpawnedAgent, type SpawnRequest, spawnAgent } from "./spawn.ts";

/** One running Claude Code, as far as it is used; a test puts a recording in its place. */
export type Agent = {
  /** Ends, or throws, when the process does. */
  frames: AsyncIterable<Frame>;
  /** Resolves when the session is loaded; rejects with the program's own words where it cannot be. */
  ready: Promise<void>;
  send(message: UserMessage): void;
  interrupt(): Promise<void>;
  /** No more input: an idle agent ends. */
  endInput(): void;
  kill(signal: "SIGTERM" | "SIGKILL"): void;
  exited: Promise<Exit>;
};

export type AskPerson = (request: PermissionRequest) => Promise<PermissionAnswer>;
export type StartAgent = (options: AgentOptions, ask: AskPerson, mark: string) => Agent;

/** Starts the real one, through the SDK. */
export function startThrough(sdk: ClaudeSdk): StartAgent {
  return (options, ask, mark) => {
    const input = new Input();
    let spawned: SpawnedAgent | null = null;
    const spawning = Promise.withResolvers<SpawnedAgent>();
    const query = sdk.query({
      prompt: input,
      options: {
        ...options,
        canUseTool: (tool: string, given: Record<string, unknown>, more: PermissionDetails) => ask(requestOf(tool, given, more)),
        spawnClaudeCodeProcess: (request: SpawnRequest) => {
          spawned = spawnAgent(request, mark);
          spawning.resolve(spawned);
          return spawned.child;
        },
      },
    });
    const ready = query.initializationResult().then(() => undefined);
    // Whatever keeps the SDK from starting it at all is told by `ready`.
    ready.catch((error: unknown) => spawning.reject(error));
    const exited = spawning.promise.then(
      (agent) => agent.exited,
      (error: Error): Exit => ({ code: null, signal: null, stderr: "", error }),
    );
    return {
      frames: query,
      ready,
      send: (message) => input.push(message),
      interrupt: async () => void (await query.interrupt()),
      endInput: () => input.end(),
      kill: (signal) => spawned?.kill(signal),
      exited,
    };
  };
}

type PermissionDetails = {
  signal: AbortSignal;
  toolUseID: string;
  title?: string;
  description?: string;
  decisionReason?: string;
  suggestions?: PermissionUpdate[];
  suppressAlwaysAllowRule?: boolean;
  matchedAskRule?: unknown;
};

function requestOf(tool: string, input: Record<string, unknown>, details: PermissionDetails): PermissionRequest {
  return {
    tool,
    input,
    toolUseId: details.toolUseID,
    signal: details.signal,
    ...(details.title !== undefined && { title: details.title }),
    ...(details.description !== undefined && { description: details.description }),
    ...(details.decisionReason !== undefined && { reason: details.decisionReason }),
    ...(details.suggestions !== undefined && { suggestions: details.suggestions }),
    onceOnly: details.suppressAlwaysAllowRule === true,
    ruleAsks: details.matchedAskRule !== undefined,
  };
}

/** The user's messages as the SDK reads them: one after the other, as they come. */
class Input implements AsyncIterable<UserMessage> {
  readonly #messages: UserMessage[] = [];
  #over = false;
  #wake: () => void = () => {};

  push(message: UserMessage): void {
    this.#messages.push(message);
    this.#wake();
  }

  end(): void {
    this.#over = true;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<UserMessage> {
    for (;;) {
      for (let next = this.#messages.shift(); next !== undefined; next = this.#messages.shift()) yield next;
      if (this.#over) return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
