import type { Command, Receipt } from "../../schemas/command.ts";
import type { AttemptId, EffectId, RunId, ThreadId } from "../../schemas/ids.ts";
import type { NativeRef } from "../../schemas/provider.ts";
import { type Refusal, refusal } from "../../schemas/refusal.ts";
import type { Run } from "../../schemas/run.ts";
import type { AppThread } from "../../schemas/thread.ts";
import type { EffectHandler } from "../runtime/effect-runner.ts";
import { folderOf } from "../runtime/folders.ts";
import type { Clock } from "../runtime/ports/clock.ts";
import type { Store } from "../runtime/ports/store.ts";
import type { Workspaces } from "../runtime/ports/workspaces.ts";
import type { Settings } from "../runtime/settings.ts";
import { runFrom, threadFrom } from "../runtime/typed-actors.ts";
import { type ProviderAdapter, ProviderFailure, type ProviderSession } from "./contract.ts";
import { howToOpen } from "./how-to-open.ts";
import { InputLookup } from "./input-lookup.ts";
import { LiveSessions } from "./live-sessions.ts";
import { LiveTurn } from "./live-turn.ts";
import { ended, outcomeUnknown, stoppedMeanwhile } from "./own-word.ts";
import { turnInput } from "./turn-input.ts";
import { within } from "./within.ts";

const defaultLeaseMs = 30 * 60_000;
/** How long a provider may take to heed an interrupt before the run is closed without it. */
const defaultInterruptMs = 10_000;
/** How long an input that was taken back may take to come to rest. */
const takeBackMs = 5_000;

export type ProviderHostOptions = {
  adapters: ReadonlyMap<string, ProviderAdapter>;
  store: Store;
  clock: Clock;
  settings: Settings;
  interruptMs?: number | undefined;
  workspaces: Pick<Workspaces, "keep" | "letGo">;
  report(command: Command, closes?: readonly EffectId[]): Promise<Receipt>;
  /** Tells a model that it may have been given this before; the text is the context service's. */
  mayRepeatNote: string;
};

/**
 * Serves runs at their providers: opens native conversations as the start plan says, gives the input once, and reports
 * what comes back. At most one open native conversation per thread: another provider's is let go of first (case H02).
 */
export class ProviderHost {
  readonly #o: ProviderHostOptions;
  readonly #sessions: LiveSessions;
  readonly #lookup: InputLookup;
  readonly #turns = new Map<RunId, LiveTurn>();

  constructor(options: ProviderHostOptions) {
    this.#o = options;
    this.#lookup = new InputLookup(options);
    this.#sessions = new LiveSessions(options.adapters, options.clock);
  }

  readonly start: EffectHandler<"provider.start"> = {
    run: ({ runId, attemptId }, effectId) => this.#start(runId, attemptId, effectId),
    settle: ({ runId, attemptId }, effectId) => this.#settle(runId, attemptId, effectId),
  };

  readonly interrupt: EffectHandler<"provider.interrupt"> = {
    run: async ({ runId, attemptId }, effectId) => {
      const turn = this.#turns.get(runId);
      if (turn === undefined || turn.attemptId !== attemptId) {
        const run = runFrom(this.#o.store, runId);
        // Its start has not been taken up yet, or nobody serves it any more: nothing will end it but this.
        if (run?.status === "interrupting" && run.attempt?.id === attemptId)
          await this.#o.report(ended(runId, attemptId, "interrupted"), [effectId]);
        else await this.#close(effectId);
        return;
      }
      await this.#close(effectId);
      turn.interrupted = true;
      this.#o.clock.after(this.#o.interruptMs ?? defaultInterruptMs, () => {
        void this.#giveUp(
          turn,
          refusal(
            "provider_unavailable",
            "interrupt_ignored",
            "the provider did not heed the interrupt",
            "Its process may still be working; the thread can go on.",
          ),
        );
      });
      // Before the acceptance there is no turn to interrupt: waiting for it is given up instead (case R03).
      if (!turn.isAccepted) turn.abort.abort();
      else await turn.session?.interrupt().catch(() => {});
    },
  };

  readonly answer: EffectHandler<"provider.answer"> = {
    run: async ({ runId, attemptId, requestId, answer }, effectId) => {
      const turn = this.#turns.get(runId);
      try {
        if (turn?.attemptId === attemptId) await turn.session?.answer(requestId, answer);
      } catch {
        // The provider has withdrawn the question meanwhile; its turn goes on or ends by itself.
      }
      await this.#close(effectId);
    },
    // The provider that had asked ended with the process: its question went with it.
    settle: async (_request, effectId) => {
      await this.#o.report({
        type: "effects.closed",
        effectIds: [effectId],
        state: "settled",
        note: "the provider's question ended with its process",
      });
      return "settled";
    },
  };

  /** Lets go of a thread's native conversation; false: its provider would not. */
  letGo(threadId: ThreadId): Promise<boolean> {
    return this.#sessions.forget(threadId).then(() => !this.#sessions.has(threadId));
  }

  /** Lets go of every conversation that serves no run just now: what it knew may have been purged. */
  async letGoIdle(): Promise<void> {
    const busy = new Set([...this.#turns.keys()].flatMap((runId) => runFrom(this.#o.store, runId)?.threadId ?? []));
    await Promise.allSettled(this.#sessions.threads().map((id) => (busy.has(id) ? undefined : this.#sessions.forget(id))));
  }

  /** Lets go of everything; runs under way are closed as interrupted. */
  async close(): Promise<void> {
    const stopped = refusal(
      "orchestration_error",
      "environment_stopped",
      "the environment was stopped while this ran",
      "Send again to go on.",
    );
    await Promise.allSettled([...this.#turns.values()].map((turn) => this.#giveUp(turn, stopped)));
    await this.#sessions.close();
    await Promise.allSettled([...this.#o.adapters.values()].map((adapter) => adapter.close()));
  }

  async #start(runId: RunId, attemptId: AttemptId, effectId: EffectId): Promise<void> {
    const run = runFrom(this.#o.store, runId);
    const thread = run === null ? null : threadFrom(this.#o.store, run.threadId);
    if (run?.plan == null || thread === null || run.status !== "starting" || run.attempt?.id !== attemptId) {
      if (run?.status === "interrupting" && run.attempt?.id === attemptId)
        await this.#o.report(ended(runId, attemptId, "interrupted"), [effectId]);
      else await this.#close(effectId);
      return;
    }
    const { instance } = run.plan.provider;
    const leaseMs = this.#o.settings.config.providers[instance]?.leaseMs ?? defaultLeaseMs;
    const turn = new LiveTurn(
      {
        clock: this.#o.clock,
        report: (c) => this.#report(c, thread.id),
        keep: (id) => this.#o.workspaces.keep(thread.id, id),
        saveProgress: (id, text) => this.#o.store.saveProgress(id, text),
        leaseExpired: (expired, error) => void this.#giveUp(expired, error),
      },
      { runId, attemptId },
      leaseMs,
      (ending, endedByProvider) => {
        this.#turns.delete(runId);
        // A provider that failed, or did not end its turn itself, may be gone: the next run opens the conversation anew.
        if (ending === "failed" || !endedByProvider) void this.#sessions.forget(thread.id);
      },
    );
    this.#turns.set(runId, turn);
    try {
      const giving = this.#give(thread, run, turn);
      turn.giving = giving.then(noted, noted);
      const { session, turnRef } = await giving;
      // Given to the door now, so that everything else of this turn comes after it.
      const accepted = this.#o.report({ type: "run.accepted", runId, attemptId, nativeRef: session.nativeRef, turnRef }, [effectId]);
      turn.accepted();
      const receipt = await accepted;
      if (!receipt.ok) throw new ProviderFailure(receipt.refusal);
      // It was told to stop while it was being accepted: now there is a turn to interrupt.
      if (turn.interrupted && !turn.hasEnded) await session.interrupt().catch(() => {});
    } catch (error) {
      await this.#close(effectId);
      await this.#startFailed(thread.id, turn, error);
    }
  }

  /**
   * Opens the conversation and gives it the input. One that was open already may have died since, unnoticed: where the
   * provider says for certain that it has not got this input, it is opened anew and given it once more.
   */
  async #give(thread: AppThread, run: Run, turn: LiveTurn): Promise<{ session: ProviderSession; turnRef: NativeRef | null }> {
    const { provider, open } = run.plan as NonNullable<Run["plan"]>;
    const { signal } = turn.abort;
    const request = {
      threadId: thread.id,
      instance: provider.instance,
      model: provider.model,
      modes: run.modes,
      cwd: folderOf(this.#o.store, thread),
      open: howToOpen(this.#o.store, thread.id, open),
    };
    const input = turnInput(this.#o.store, run, turn.attemptId, this.#o.mayRepeatNote);
    const give = async () => {
      const { session, reused } = await this.#sessions.take(request, signal);
      turn.session = session;
      signal.throwIfAborted();
      turn.isGiven = true;
      try {
        return { session, ...(await session.startTurn(input, turn.take, signal)) };
      } catch (error) {
        if (!reused || signal.aborted || (await this.#lookup.becameOf(run.id, turn.attemptId)).outcome !== "absent") throw error;
        await this.#sessions.forget(thread.id);
        return null;
      }
    };
    const given = (await give()) ?? (await give());
    if (given === null) throw new Error("a conversation that was just opened was taken for one that was open before");
    return given;
  }

  /** What was kept for a checkpoint that is not made after all is let go of. */
  async #report(command: Command, threadId: ThreadId): Promise<Receipt> {
    const receipt = await this.#o.report(command);
    const isKept = command.type === "run.ended" && command.workspace != null;
    if (isKept && receipt.ok && receipt.result.checkpointId == null) await this.#o.workspaces.letGo(threadId, command.runId);
    return receipt;
  }

  async #startFailed(threadId: ThreadId, turn: LiveTurn, error: unknown): Promise<void> {
    // Whatever state the conversation was left in, the next run opens it anew.
    void this.#sessions.forget(threadId);
    if (turn.abort.signal.aborted) {
      await this.#giveUp(turn, null);
      return;
    }
    const failure = error instanceof ProviderFailure ? error : null;
    const what =
      failure?.refusal ??
      refusal(
        "provider_unavailable",
        "start_failed",
        error instanceof Error ? error.message : String(error),
        "See ropewalk doctor, then send again.",
      );
    const { openFailed = false, rewindRefused = false } = failure ?? {};
    await turn.end("failed", what, { openFailed, rewindRefused });
  }

  /**
   * Ends a turn from our side. Where its acceptance was waited for, the provider may have taken the input all the same,
   * and is asked: what it was told is consumed only when it says so (decision 29).
   */
  #giveUp(turn: LiveTurn, error: Refusal | null): Promise<void> {
    turn.givenUp ??= this.#endGivenUp(turn, error);
    return turn.givenUp;
  }

  async #endGivenUp(turn: LiveTurn, error: Refusal | null): Promise<void> {
    turn.abort.abort();
    if (turn.hasEnded) return turn.end("interrupted", error);
    let why = error;
    if (turn.isGiven && !turn.isAccepted) {
      // An input that is on its way may be taken in this very moment: nobody is asked before that is over.
      const isOver = await within(
        this.#o.clock,
        takeBackMs,
        turn.giving.then(() => true),
        () => false,
      );
      if (!turn.isAccepted && !turn.hasEnded) {
        const { runId, attemptId } = turn;
        const found = await this.#lookup.becameOf(runId, attemptId);
        if (found.outcome === "accepted")
          await this.#o.report({ type: "run.accepted", runId, attemptId, nativeRef: found.nativeRef, turnRef: found.turnRef });
        else if (found.outcome === "unknown" || !isOver) why = outcomeUnknown;
      }
    }
    await turn.end("interrupted", why);
  }

  /** After a crash: what became of an input whose start was committed (contract §7). */
  async #settle(runId: RunId, attemptId: AttemptId, effectId: EffectId): Promise<"settled" | "never_begun"> {
    const run = runFrom(this.#o.store, runId);
    if (run?.plan == null || run.attempt?.id !== attemptId || run.acceptedAt !== null) {
      await this.#close(effectId);
      return "settled";
    }
    const found = await this.#lookup.becameOf(runId, attemptId);
    const end = ended(runId, attemptId, "interrupted");
    if (found.outcome === "absent") {
      if (run.status === "starting") return "never_begun";
      await this.#o.report(end, [effectId]);
    } else if (found.outcome === "unknown") {
      await this.#o.report({ ...end, error: outcomeUnknown }, [effectId]);
    } else {
      const { nativeRef, turnRef } = found;
      await this.#o.report({ type: "run.accepted", runId, attemptId, nativeRef, turnRef }, [effectId]);
      await this.#o.report({ ...end, error: stoppedMeanwhile, turnRef });
    }
    return "settled";
  }

  async #close(effectId: EffectId): Promise<void> {
    await this.#o.report({ type: "effects.closed", effectIds: [effectId], state: "done", note: "" });
  }
}

const noted = () => {};
