import type { Command } from "../../schemas/command.ts";
import type { AttemptId, RunId } from "../../schemas/ids.ts";
import type { NativeRef } from "../../schemas/provider.ts";
import { type Refusal, refusal } from "../../schemas/refusal.ts";
import type { RunEnding } from "../../schemas/run.ts";
import type { Clock } from "../runtime/ports/clock.ts";
import type { KeptState } from "../runtime/ports/workspaces.ts";
import type { ProviderSession, TurnEvent } from "./contract.ts";

export type TurnHost = {
  clock: Clock;
  report(command: Command): Promise<unknown>;
  saveProgress(runId: RunId, text: string): void;
  /** Keeps what the run's folder holds, for its checkpoint; null at once where there is nothing to keep. */
  keep(runId: RunId): Promise<KeptState> | null;
  /** Nothing was heard for too long: whoever serves the turn gives it up. */
  leaseExpired(turn: LiveTurn, error: Refusal): void;
};

type EndOptions = { openFailed?: boolean; rewindRefused?: boolean; turnRef?: NativeRef | null; endedByProvider?: boolean };

/** Partial text is written at most this often (decision 14). */
const progressEveryMs = 250;

/**
 * One attempt under way at a provider: turns its events into reports, in order and only after the acceptance was
 * reported; keeps its lease; ends exactly once.
 */
export class LiveTurn {
  readonly runId: RunId;
  readonly attemptId: AttemptId;
  readonly abort = new AbortController();
  session: ProviderSession | null = null;
  interrupted = false;
  /** True from when the provider was given the input: then it may have taken it, whatever is heard of it. */
  isGiven = false;
  /** Resolves when the provider has taken the input or will not take it any more. */
  giving: Promise<void> = Promise.resolve();
  /** Under way, or done, once it is ended from our side. */
  givenUp: Promise<void> | null = null;
  readonly #host: TurnHost;
  readonly #leaseMs: number;
  readonly #onEnded: (ending: RunEnding, endedByProvider: boolean) => void;
  readonly #openRequests = new Set<string>();
  #waiting: TurnEvent[] | null = [];
  #ended = false;
  #ending: Promise<void> | null = null;
  #stopLease: () => void = () => {};
  #partial = "";
  #savedAt = 0;
  #stopSaving: (() => void) | null = null;

  constructor(
    host: TurnHost,
    ids: { runId: RunId; attemptId: AttemptId },
    leaseMs: number,
    onEnded: (ending: RunEnding, endedByProvider: boolean) => void,
  ) {
    this.#host = host;
    this.runId = ids.runId;
    this.attemptId = ids.attemptId;
    this.#leaseMs = leaseMs;
    this.#onEnded = onEnded;
    this.#renewLease();
  }

  get hasEnded(): boolean {
    return this.#ended;
  }

  get isAccepted(): boolean {
    return this.#waiting === null;
  }

  /** What the provider says. Held back until {@link accepted}. */
  take = (event: TurnEvent): void => {
    if (event.type === "request_opened") this.#openRequests.add(event.requestId);
    if (event.type === "request_closed") this.#openRequests.delete(event.requestId);
    this.#renewLease();
    if (this.#waiting !== null) this.#waiting.push(event);
    else this.#report(event);
  };

  /** The acceptance was given to the door; what was held back follows it. */
  accepted(): void {
    const held = this.#waiting ?? [];
    this.#waiting = null;
    for (const event of held) this.#report(event);
  }

  /** Ends it, once. `endedByProvider`: the provider said so; else it is our word, and nobody knows what the provider still does. */
  end(ending: RunEnding, error: Refusal | null, options: EndOptions = {}): Promise<void> {
    this.#ending ??= this.#end(ending, error, options);
    return this.#ending;
  }

  async #end(ending: RunEnding, error: Refusal | null, options: EndOptions): Promise<void> {
    this.#ended = true;
    this.#stopLease();
    this.#stopSaving?.();
    // What had arrived is kept, whatever ends the turn.
    this.#saveProgress();
    // Not waited for where there is nothing to keep: then what was reported before shares its commit.
    const keeping = ending === "completed" ? this.#host.keep(this.runId) : null;
    const kept = keeping === null ? null : await keeping;
    this.#onEnded(ending, options.endedByProvider ?? false);
    await this.#host.report({
      type: "run.ended",
      ...this.#ids,
      ending,
      error,
      openFailed: options.openFailed ?? false,
      ...(options.rewindRefused === true && { rewindRefused: true }),
      turnRef: options.turnRef ?? null,
      ...(kept !== null && { workspace: kept.snapshot, workspaceNote: kept.note }),
    });
  }

  get #ids() {
    return { runId: this.runId, attemptId: this.attemptId };
  }

  #report(event: TurnEvent): void {
    if (this.#ended) return;
    switch (event.type) {
      case "alive":
        return;
      case "progress":
        this.#progress(event.text);
        return;
      case "item":
        if (event.body.kind === "assistant_message") this.#partial = "";
        void this.#host.report({
          type: "run.items",
          ...this.#ids,
          items: [{ body: event.body, nativeId: event.nativeId, truncated: event.truncated ?? false }],
        });
        return;
      case "request_opened": {
        const { requestId, question, text, options } = event;
        const body = { kind: "approval" as const, requestId, question, content: { text }, options };
        void this.#host.report({
          type: "run.request_opened",
          ...this.#ids,
          request: { requestId, question },
          item: { body, nativeId: null, truncated: false },
        });
        return;
      }
      case "request_closed":
        void this.#host.report({ type: "run.request_closed", ...this.#ids, requestId: event.requestId });
        return;
      case "ended":
        void this.end(event.ending, event.error, { turnRef: event.turnRef, endedByProvider: true });
        return;
    }
  }

  /** Written at once after a pause, then once for all that comes within the time: also what comes last is written. */
  #progress(text: string): void {
    this.#partial = text;
    if (this.#stopSaving !== null) return;
    const left = this.#savedAt + progressEveryMs - this.#host.clock.now();
    if (left <= 0) this.#saveProgress();
    else this.#stopSaving = this.#host.clock.after(left, () => this.#saveProgress());
  }

  #saveProgress(): void {
    this.#stopSaving = null;
    // The whole message has come as an item since.
    if (this.#partial === "") return;
    this.#savedAt = this.#host.clock.now();
    try {
      this.#host.saveProgress(this.runId, this.#partial);
    } catch {
      // The store cannot take it now. It is only what is there so far; the whole text comes as an item, which waits for it.
    }
  }

  /** Stands still while the provider waits for an answer of ours: then it has nothing to say. */
  #renewLease(): void {
    this.#stopLease();
    this.#stopLease = () => {};
    if (this.#ended || this.#openRequests.size > 0) return;
    this.#stopLease = this.#host.clock.after(this.#leaseMs, () => {
      const minutes = Math.round(this.#leaseMs / 60_000);
      this.#host.leaseExpired(
        this,
        refusal(
          "provider_unavailable",
          "lease_expired",
          `the provider gave no sign of life for ${minutes > 0 ? `${minutes} min` : `${this.#leaseMs} ms`}`,
          "Send again.",
        ),
      );
    });
  }
}
