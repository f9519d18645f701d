import { randomUUID } from "node:crypto";
import type { NativeRef } from "../../../schemas/provider.ts";
import type { Clock } from "../../runtime/ports/clock.ts";
import { abortable, within } from "../abortable.ts";
import type { ProviderFailure, ProviderSession, TurnInput, TurnSink } from "../contract.ts";
import type { Agent, AskPerson, StartAgent } from "./agent.ts";
import { asFailure, failure, openAborted, openFailure } from "./failure.ts";
import { planModeWords, standingAnswer } from "./modes.ts";
import type { OpenedHow } from "./options.ts";
import type { PermissionAnswer, PermissionRequest } from "./protocol.ts";
import { unknownRequest } from "./requests.ts";
import type { Exit } from "./spawn.ts";
import { Turn } from "./turn.ts";
import { messageOf } from "./user-message.ts";

/** A session with a long history and many tool servers takes a while to load. */
const startTimeoutMs = 120_000;
const interruptTimeoutMs = 10_000;
/** How long each way of ending is given before the next, harder one. */
const stopStepMs = 3_000;

export type SessionHost = {
  clock: Clock;
  /** How long a session without a turn keeps its process: each holds some 200 MB. */
  idleMs: number;
  start: StartAgent;
  /** Waits until nobody else writes to the session. Rejects with a `ProviderFailure`. */
  requireAlone(sessionId: string, signal: AbortSignal): Promise<void>;
  /** Says, before it is started, that an agent with this mark will run; and that it has ended. */
  note(mark: string): void;
  forget(mark: string): void;
  redact(text: string): string;
  contextWindow(tokens: number): void;
  letGo(session: ClaudeSession): void;
};

/**
 * One session of Claude Code. It has a process of its own while a turn runs and for a while after; then the process is ended, and
 * the next turn starts another, which goes on with the same session.
 */
export class ClaudeSession implements ProviderSession {
  readonly nativeRef: NativeRef;
  readonly #how: OpenedHow;
  readonly #host: SessionHost;
  #agent: Agent | null = null;
  #turn: Turn | null = null;
  /** The one that the turn was given to: what an earlier one still says, or that it ends, is no concern of the turn. */
  #serving: Agent | null = null;
  /** Until the first input is written down, a session is opened again as it was: a fork or a rewind is nothing before that. */
  #hasSpoken = false;
  #closing = false;
  #detached: Promise<void> | null = null;
  #cancelSleep: () => void = () => {};

  constructor(how: OpenedHow, host: SessionHost) {
    this.nativeRef = { id: how.sessionId, strength: "strong" };
    this.#how = how;
    this.#host = host;
  }

  /** Loads the session. Rejects with a `ProviderFailure`; nothing is left running then. */
  async open(signal: AbortSignal): Promise<void> {
    await this.#start(signal);
    this.#sleepLater();
  }

  async startTurn(input: TurnInput, sink: TurnSink, signal: AbortSignal): Promise<{ turnRef: NativeRef | null }> {
    if (this.#detached) throw failure("session_detached", "This session was detached.", "Open the conversation again.");
    if (this.#turn !== null) throw turnRunning();
    if (signal.aborted) throw startAborted();
    const message = messageOf(input);
    const turn = this.#newTurn(message.uuid, sink);
    try {
      const agent = this.#agent ?? (await this.#start(signal));
      this.#serving = agent;
      if (this.#agent !== agent) throw died(await agent.exited, (text) => this.#host.redact(text));
      agent.send(message);
      await abortable(turn.acceptance, signal, startAborted);
      this.#hasSpoken = true;
    } catch (cause) {
      turn.mute();
      // Whether it is taken up yet cannot be asked: without the process it is not, and what was written down says what became of it.
      await this.#stop();
      this.#turn = null;
      throw asFailure(cause);
    }
    // Its end says which native turn it was: a turn is named by its last entry, so that a fork has the whole of it.
    return { turnRef: null };
  }

  async interrupt(): Promise<void> {
    const [turn, agent] = [this.#turn, this.#agent];
    if (turn === null || turn.over || agent === null) return;
    turn.interruptAsked();
    if (await this.#within(interruptTimeoutMs, agent.interrupt())) return;
    throw failure("provider_not_answering", "Claude does not end the turn.", "Send again, or stop the environment.");
  }

  async answer(requestId: string, answer: string): Promise<void> {
    if (this.#turn === null) throw unknownRequest(requestId);
    this.#turn.answer(requestId, answer);
  }

  /** Ends a running turn and the process: then nobody writes to the session any more. */
  detach(): Promise<void> {
    this.#detached ??= this.#detach();
    return this.#detached;
  }

  async #detach(): Promise<void> {
    this.#closing = true;
    const turn = this.#turn;
    if (turn !== null) {
      await this.interrupt().catch(() => undefined);
      await this.#within(stopStepMs, turn.ended);
    }
    await this.#stop();
    this.#host.letGo(this);
  }

  async #start(signal: AbortSignal): Promise<Agent> {
    this.#cancelSleep();
    await this.#host.requireAlone(this.nativeRef.id, signal);
    if (signal.aborted) throw openAborted();
    const mark = randomUUID();
    this.#host.note(mark);
    let agent: Agent;
    try {
      agent = this.#host.start(this.#hasSpoken ? this.#how.again : this.#how.first, this.#ask, mark);
    } catch (cause) {
      this.#host.forget(mark);
      throw asFailure(cause);
    }
    this.#agent = agent;
    void agent.exited.then(() => this.#host.forget(mark));
    void this.#pump(agent);
    try {
      await abortable(this.#readyInTime(agent), signal, openAborted);
    } catch (cause) {
      await this.#stop();
      throw await this.#openFailure(agent, this.#hasSpoken ? "resume" : this.#how.kind, cause);
    }
    return agent;
  }

  async #readyInTime({ ready }: Agent): Promise<void> {
    if (await this.#within(startTimeoutMs, ready)) return ready;
    throw failure("provider_not_answering", `Claude did not load the session within ${startTimeoutMs / 1000} s.`, "Send again.");
  }

  async #openFailure(agent: Agent, kind: OpenedHow["kind"], cause: unknown): Promise<ProviderFailure> {
    if (!(cause instanceof Error) || cause.name === "ProviderFailure") return asFailure(cause);
    const said = this.#host.redact(cause.message.replace(/^Claude Code returned an error result: /, ""));
    return openFailure(kind, said) ?? died(await agent.exited, (text) => this.#host.redact(text));
  }

  async #pump(agent: Agent): Promise<void> {
    try {
      for await (const frame of agent.frames) {
        // The caller hears of the acceptance before it hears of anything else.
        if (this.#serving === agent && this.#turn?.take(frame) === true) await new Promise((resolve) => setImmediate(resolve));
      }
    } catch {
      // Its exit says more.
    }
    await this.#end(agent);
    if (this.#agent === agent) this.#agent = null;
    if (this.#serving !== agent) return;
    this.#turn?.died(
      died(await agent.exited, (text) => this.#host.redact(text)),
      this.#closing,
    );
  }

  readonly #ask: AskPerson = async (request: PermissionRequest): Promise<PermissionAnswer> => {
    const turn = this.#turn;
    const { modes } = this.#how;
    if (modes.interactionMode === "plan" && request.tool === "ExitPlanMode") turn?.plan(String(request.input.plan ?? ""));
    const standing = standingAnswer(modes, request);
    if (standing === "allow") return { behavior: "allow", updatedInput: request.input };
    if (standing === "deny") return { behavior: "deny", message: planModeWords(request) };
    return turn?.ask(request) ?? { behavior: "deny", message: "Nobody is there to ask.", interrupt: true };
  };

  #newTurn(inputId: string, sink: TurnSink): Turn {
    const { redact, contextWindow } = this.#host;
    // Free for the next turn before the end is told, so that a caller may start it there and then.
    const turn: Turn = new Turn({ cwd: this.#how.cwd, inputId, redact, contextWindow }, (event) => {
      if (event.type === "ended") this.#free(turn);
      sink(event);
    });
    this.#turn = turn;
    void turn.ended.then(() => this.#free(turn));
    return turn;
  }

  #free(turn: Turn): void {
    if (this.#turn !== turn) return;
    this.#turn = null;
    this.#serving = null;
    this.#sleepLater();
  }

  #sleepLater(): void {
    this.#cancelSleep();
    if (this.#detached) return;
    this.#cancelSleep = this.#host.clock.after(this.#host.idleMs, () => {
      if (this.#turn === null) void this.#stop();
    });
  }

  async #stop(): Promise<void> {
    this.#cancelSleep();
    const agent = this.#agent;
    this.#agent = null;
    if (agent !== null) await this.#end(agent);
  }

  async #end(agent: Agent): Promise<void> {
    agent.endInput();
    // One that is in the middle of a turn would go on with it.
    const isServing = this.#serving === agent && this.#turn !== null;
    if (!isServing && (await this.#within(stopStepMs, agent.exited))) return;
    agent.kill("SIGTERM");
    if (await this.#within(stopStepMs, agent.exited)) return;
    agent.kill("SIGKILL");
    await this.#within(stopStepMs, agent.exited);
  }

  #within(ms: number, work: Promise<unknown>): Promise<boolean> {
    return within((wait, callback) => this.#host.clock.after(wait, callback), ms, work);
  }
}

function died(exit: Exit, redact: (text: string) => string): ProviderFailure {
  if (exit.error)
    return failure(
      "provider_not_started",
      `Claude could not be started: ${redact(exit.error.message)}`,
      "See that its program can be run.",
      {
        cause: exit.error,
      },
    );
  const stderr = redact(exit.stderr.trim());
  // Who was killed had no last word: what is on standard error then is old.
  const lastLine = exit.signal === null ? stderr.split("\n").findLast((line) => line.trim() !== "") : undefined;
  const how = exit.signal === null ? `with exit code ${exit.code}` : `by ${exit.signal}`;
  const message = `The Claude process ended ${how}${lastLine === undefined ? "." : `: ${lastLine.trim()}`}`;
  return failure("provider_process_died", message, "Send again: Claude is started anew and goes on with the same conversation.", {
    details: { exitCode: exit.code, signal: exit.signal, stderr },
  });
}

function startAborted(): ProviderFailure {
  return failure("start_aborted", "The input was taken back before Claude said that it accepted it.", "Send again.");
}

function turnRunning(): ProviderFailure {
  return failure("turn_running", "The conversation has a running turn.", "Wait for its end, then send again.", {
    code: "orchestration_error",
  });
}
