import type { NativeRef } from "../../../schemas/provider.ts";
import { abortable } from "../abortable.ts";
import type { ProviderFailure, ProviderSession, TurnInput, TurnSink } from "../contract.ts";
import { additionalContext } from "./context.ts";
import { asFailure, failure, RpcError } from "./failure.ts";
import type { CodexTurn, RpcId, ThreadFrame } from "./protocol.ts";
import type { Connection, ThreadListener } from "./server.ts";
import { Turn } from "./turn.ts";

const interruptTimeoutMs = 10_000;
const interruptPollMs = 50;
/** Codex refuses an interrupt between its answer to `turn/start` and the turn's real start: it is asked again, for 10 s. */
const interruptTries = 200;
const detachTimeoutMs = 10_000;

export type CollaborationMode = {
  mode: "plan" | "default";
  settings: { model: string; reasoning_effort: string | null; developer_instructions: null };
};

export type SessionOptions = {
  connection: Connection;
  threadId: string;
  /** Given with the next turn where the thread is in another mode than it should be. */
  collaborationMode: CollaborationMode | null;
  contextWindow(tokens: number): void;
};

/** One loaded native thread. One turn at a time: a `turn/start` during a turn would steer that turn. */
export class CodexSession implements ProviderSession, ThreadListener {
  readonly nativeRef: NativeRef;
  readonly #connection: Connection;
  readonly #contextWindow: (tokens: number) => void;
  #collaborationMode: CollaborationMode | null;
  #turn: Turn | null = null;
  /** A turn that runs natively, whoever started it. */
  #active: string | null = null;
  #dead: ProviderFailure | null = null;
  #closed: () => void = () => undefined;
  readonly #threadClosed: Promise<void>;
  #detached: Promise<void> | null = null;

  constructor({ connection, threadId, collaborationMode, contextWindow }: SessionOptions) {
    this.nativeRef = { id: threadId, strength: "strong" };
    this.#connection = connection;
    this.#collaborationMode = collaborationMode;
    this.#contextWindow = contextWindow;
    this.#threadClosed = new Promise((resolve) => {
      this.#closed = resolve;
    });
    connection.listen(threadId, this);
  }

  async startTurn(input: TurnInput, sink: TurnSink, signal: AbortSignal): Promise<{ turnRef: NativeRef | null }> {
    this.#requireIdle();
    if (signal.aborted) throw startAborted();
    const turn = this.#newTurn(sink);
    const answer = this.#connection.peer
      .request<{ turn: CodexTurn }>("turn/start", this.#turnParams(input))
      .then(({ turn: { id } }) => {
        turn.accepted(id);
        this.#collaborationMode = null;
        return turn;
      })
      .catch((cause: unknown) => {
        turn.refused();
        throw asFailure(cause);
      });
    // A turn that starts although nobody waits for it any more is ended; until then the session stays busy.
    const clean = () => this.interrupt();
    const aborted = () => {
      turn.mute();
      return startAborted();
    };
    await abortable(answer, signal, aborted, clean);
    return { turnRef: turn.ref };
  }

  async interrupt(): Promise<void> {
    const turn = this.#turn;
    for (let tries = 0; turn && !turn.over && !this.#dead && tries < interruptTries; tries++) {
      if (turn.ref && (await this.#interruptOnce(turn.ref.id))) return;
      await this.#connection.within(interruptPollMs, turn.ended);
    }
    if (turn && !turn.over && !this.#dead)
      throw failure("provider_not_answering", "Codex does not end the turn.", "Send again, or stop the environment.");
  }

  async answer(requestId: string, answer: string): Promise<void> {
    if (this.#turn === null) {
      throw failure("unknown_request", "No turn is running.", "The turn has ended.", { code: "invalid_request" });
    }
    if (this.#turn.answer(requestId, answer).interrupt) await this.interrupt();
  }

  /** Ends a running turn, and unloads the thread, which frees its writer lock. */
  detach(): Promise<void> {
    this.#detached ??= this.#detach().catch((cause: unknown) => {
      this.#detached = null;
      throw asFailure(cause);
    });
    return this.#detached;
  }

  notified(method: string, frame: ThreadFrame): void {
    if (frame.threadId === this.nativeRef.id) {
      if (method === "turn/started") this.#active = frame.turn?.id ?? null;
      if (method === "turn/completed" && frame.turn?.id === this.#active) this.#active = null;
      if (method === "thread/closed") this.#closed();
    }
    this.#turn?.notified(method, frame);
  }

  asked(id: RpcId, method: string, frame: ThreadFrame): void {
    if (this.#turn) this.#turn.asked(id, method, frame);
    else this.#connection.peer.refuse(id, "no turn is running");
  }

  died(cause: ProviderFailure, closed: boolean): void {
    this.#dead = cause;
    this.#turn?.died(cause, closed);
    this.#closed();
  }

  #requireIdle(): void {
    if (this.#dead) throw this.#dead;
    if (this.#detached) throw failure("session_detached", "This session was detached.", "Open the conversation again.");
    if (this.#turn || this.#active) throw turnRunning();
  }

  #newTurn(sink: TurnSink): Turn {
    const turn = new Turn(
      {
        threadId: this.nativeRef.id,
        connection: this.#connection,
        child: (threadId) => this.#connection.listen(threadId, this),
        contextWindow: this.#contextWindow,
      },
      // Free for the next turn before the end is told, so that a caller may start it there and then.
      (event) => {
        if (event.type === "ended") this.#turn = null;
        sink(event);
      },
    );
    this.#turn = turn;
    void turn.ended.then(() => {
      if (this.#turn === turn) this.#turn = null;
    });
    return turn;
  }

  #turnParams({ message, context, attemptId }: TurnInput): Record<string, unknown> {
    const told = additionalContext(context, attemptId);
    return {
      threadId: this.nativeRef.id,
      clientUserMessageId: attemptId,
      input: [{ type: "text", text: message, text_elements: [] }],
      ...(told && { additionalContext: told }),
      ...(this.#collaborationMode && { collaborationMode: this.#collaborationMode }),
    };
  }

  async #interruptOnce(turnId: string): Promise<boolean> {
    try {
      await this.#connection.peer.request("turn/interrupt", { threadId: this.nativeRef.id, turnId }, interruptTimeoutMs);
      return true;
    } catch (cause) {
      if (cause instanceof RpcError) return false;
      throw cause;
    }
  }

  async #detach(): Promise<void> {
    if (this.#dead) return;
    const turn = this.#turn;
    if (turn) {
      await this.interrupt();
      await this.#connection.within(detachTimeoutMs, turn.ended);
    }
    await this.#unsubscribe();
    this.#connection.forget(this);
  }

  /** The answer comes at once, the lock is free when the thread is told to be closed. The end of the process frees it too. */
  async #unsubscribe(): Promise<void> {
    const params = { threadId: this.nativeRef.id };
    try {
      const { status } = await this.#connection.peer.request<{ status?: string }>("thread/unsubscribe", params, detachTimeoutMs);
      if (status === "notLoaded" || (await this.#connection.within(detachTimeoutMs, this.#threadClosed))) return;
    } catch (cause) {
      if (this.#connection.peer.over) return;
      throw cause;
    }
    throw failure("native_thread_in_use", "Codex did not let go of the conversation.", "Wait a little, then send again.");
  }
}

function startAborted(): ProviderFailure {
  return failure("start_aborted", "The input was taken back before Codex said that it accepted it.", "Send again.");
}

function turnRunning(): ProviderFailure {
  return failure("turn_running", "The conversation has a running turn.", "Wait for its end, then send again.", {
    code: "orchestration_error",
  });
}
