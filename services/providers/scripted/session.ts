import type { ProviderCapabilities } from "../../../schemas/provider.ts";
import type { Clock } from "../../runtime/ports/clock.ts";
import type { OpenSession, ProviderSession, TurnInput, TurnSink } from "../contract.ts";
import { nativeRef, turnRef } from "./capabilities.ts";
import { knowledge, type Turn } from "./conversation.ts";
import { type Conversations, nextTurn, type OpenConversation } from "./conversations.ts";
import { failure, scriptedFailure } from "./failure.ts";
import type { InputRecord, Inputs } from "./inputs.ts";
import { pause } from "./pause.ts";
import { interrupted, type PlayedEnd, play } from "./play.ts";
import { Requests } from "./requests.ts";
import { type Choice, chooseRule } from "./rules.ts";
import { isBeforeAcceptance, type Rule, type Script, type Step } from "./script.ts";

/** What all sessions of one instance share. */
export type SessionHost = {
  conversations: Conversations;
  inputs: Inputs;
  clock: Clock;
  /** How often each rule was played in this process. */
  used: Map<Rule, number>;
  script: () => Script;
  capabilities: () => ProviderCapabilities;
  /** True when this detach is one that the script lets fail. */
  detachFails: () => boolean;
  closed: (session: ScriptedSession) => void;
};

type RunningTurn = { requests: Requests; interrupt: AbortController; ended: Promise<void> };

/** One writer of one native conversation. */
export class ScriptedSession implements ProviderSession {
  readonly #host: SessionHost;
  readonly #request: OpenSession;
  readonly #open: OpenConversation;
  readonly #closing = new AbortController();
  /** Its last turn when it was opened. */
  readonly #rewoundTo: string | null;
  #running: RunningTurn | null = null;
  #starting: Promise<unknown> | null = null;
  #turns = 0;
  #over: "crashed" | "detached" | null = null;

  constructor(host: SessionHost, request: OpenSession, open: OpenConversation) {
    this.#host = host;
    this.#request = request;
    this.#open = open;
    this.#rewoundTo = open.conversation.turns.at(-1)?.id ?? null;
  }

  get nativeRef() {
    return nativeRef(this.#open.conversation.id, this.#host.capabilities().identity.thread);
  }

  async startTurn(input: TurnInput, sink: TurnSink, signal: AbortSignal) {
    if (this.#over === "crashed")
      throw failure("provider_process_died", "The provider's process has ended.", "Open the conversation again.");
    if (this.#over === "detached") throw failure("session_detached", "This session was detached.", "Open the conversation again.");
    if (this.#starting || this.#running) {
      throw failure("turn_running", "The conversation has a running turn.", "Wait for its end.", { code: "orchestration_error" });
    }
    const start = this.#start(input, sink, [signal, this.#closing.signal]);
    this.#starting = start.catch(() => undefined);
    try {
      return await start;
    } finally {
      this.#starting = null;
    }
  }

  async interrupt(): Promise<void> {
    if (this.#host.capabilities().interrupt) this.#running?.interrupt.abort(interrupted);
  }

  async answer(requestId: string, answer: string): Promise<void> {
    if (this.#running === null) {
      throw failure("unknown_request", "No turn is running.", "The turn has ended.", { code: "invalid_request" });
    }
    this.#running.requests.answer(requestId, answer);
  }

  async detach(): Promise<void> {
    if (this.#host.detachFails()) {
      throw failure("detach_failed", "The provider did not let go of the conversation.", "The provider's script says so.");
    }
    await this.end();
  }

  /** Lets go whatever the script says; a turn that runs is cut off. */
  async end(): Promise<void> {
    this.#closing.abort(interrupted);
    await this.#starting;
    await this.#running?.ended;
    if (this.#over === "detached") return;
    this.#over = "detached";
    this.#host.conversations.release(this.#open);
    this.#host.closed(this);
  }

  async #start(input: TurnInput, sink: TurnSink, waiting: AbortSignal[]) {
    const { conversation } = this.#open;
    const capabilities = this.#host.capabilities();
    const turn = nextTurn(conversation, input);
    const number = conversation.made + 1;
    const turnNow = conversation.turns.length + 1;
    const choice = chooseRule(this.#host.script(), { message: input.message, context: input.context, turn: turnNow }, this.#host.used);
    const [before, steps] = split(choice.steps);

    let recorded = false;
    const record = async () => {
      if (recorded) return;
      recorded = true;
      await this.#host.conversations.prepareTurn(this.#open, turn);
      await this.#host.inputs.accept(this.#recordOf(input, number, capabilities));
      conversation.turns.push(turn);
      conversation.made = number;
      this.#turns += 1;
    };
    try {
      for (const step of before) {
        if (step.fail) throw scriptedFailure(step.fail);
        if (step.holdAcceptMs !== undefined) await record();
        await pause(this.#host.clock, step.acceptAfterMs ?? step.holdAcceptMs ?? 0, waiting);
      }
      for (const signal of waiting) signal.throwIfAborted();
      await record();
    } catch (cause) {
      // Accepted by the record, but nobody was told: the turn is over, and a later look-up says so.
      if (conversation.turns.includes(turn)) await this.#host.conversations.endTurn(this.#open, turn, "interrupted");
      if (waiting.some((signal) => signal.aborted)) {
        throw failure("start_aborted", "The input was taken back before the provider said that it accepted it.", "Send again.", { cause });
      }
      throw cause;
    }
    this.#run(turn, { ...choice, steps }, sink, capabilities);
    return { turnRef: turnRef(turn.id, capabilities) };
  }

  #run(turn: Turn, choice: Choice, sink: TurnSink, capabilities: ProviderCapabilities): void {
    const requests = new Requests(turn.id, sink);
    const interrupt = new AbortController();
    const item = async (body: Turn["items"][number], truncated?: boolean) => {
      await this.#host.conversations.addItem(this.#open, turn, body);
      const nativeId = capabilities.identity.item === "none" ? null : `${turn.id}.i${turn.items.length}`;
      sink({ type: "item", body, nativeId, ...(truncated && { truncated }) });
    };
    const played = async (): Promise<void> => {
      // The caller hears of the acceptance before it hears of what follows.
      await new Promise((next) => setImmediate(next));
      const end = await play(choice, {
        cwd: this.#request.cwd,
        clock: this.#host.clock,
        requests,
        canAsk: capabilities.approvals,
        interrupt: interrupt.signal,
        closing: this.#closing.signal,
        progress: (text) => sink({ type: "progress", text }),
        item,
        known: () => knowledge(this.#open.conversation),
      });
      await this.#ended(turn, end);
      sink({ type: "ended", ending: end.ending, error: end.error, turnRef: turnRef(turn.id, capabilities) });
    };
    this.#running = { requests, interrupt, ended: played() };
  }

  async #ended(turn: Turn, end: PlayedEnd): Promise<void> {
    if (end.crashed) {
      // A dead process writes nothing down: this is how a new one would read the turn.
      turn.ending = "interrupted";
      this.#over = "crashed";
    } else {
      // Not written (a full disk): then a new process reads the turn as interrupted, which is still the truth of it.
      await this.#host.conversations.endTurn(this.#open, turn, end.ending).catch(() => undefined);
    }
    this.#running = null;
  }

  #recordOf(input: TurnInput, turn: number, capabilities: ProviderCapabilities): InputRecord {
    const first = this.#turns === 0;
    const request = this.#request;
    return {
      at: this.#host.clock.now(),
      threadId: request.threadId,
      runId: input.runId,
      attemptId: input.attemptId,
      native: this.#open.conversation.id,
      opened: first ? request.kind : "resume",
      ...(first && request.kind === "fork" && { forkedFrom: { native: request.nativeRef.id, turn: request.turnRef.id } }),
      ...(first && request.kind === "resume" && request.rewind && { rewoundTo: this.#rewoundTo }),
      turn,
      context: input.context,
      message: input.message,
      full: capabilities.contextInjection === "text" ? [...input.context, input.message].join("\n\n") : input.message,
      cwd: request.cwd,
      model: request.model,
      modes: request.modes,
    };
  }
}

/** What is played before the input counts as accepted, and the rest. */
function split(steps: Step[]): [Step[], Step[]] {
  const at = steps.findIndex((step) => !isBeforeAcceptance(step));
  return at === -1 ? [steps, []] : [steps.slice(0, at), steps.slice(at)];
}
