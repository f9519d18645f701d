import type { Caller, Command, CommandType, PublicCommand, Receipt } from "../../schemas/command.ts";
import type { EffectRequest } from "../../schemas/effect.ts";
import type { CommandId, EffectId, LinkId } from "../../schemas/ids.ts";
import { dependsOnOutside, type Refusal, refusal } from "../../schemas/refusal.ts";
import { closing, conflict, refused, repeated, storeRefusal } from "./answers.ts";
import { boundaryName } from "./boundary-name.ts";
import { CommandQueue, type Waiting } from "./command-queue.ts";
import { payloadDigest } from "./digest.ts";
import type { Facts } from "./facts.ts";
import { HotActors } from "./hot-actors.ts";
import { holdLinkFence } from "./link-fence.ts";
import { Outbox } from "./outbox.ts";
import { Overlay } from "./overlay.ts";
import { overlayStore } from "./overlay-store.ts";
import type { Plan } from "./plan.ts";
import { plans } from "./plans.ts";
import type { Clock } from "./ports/clock.ts";
import type { Identifiers } from "./ports/identifiers.ts";
import { type CommitBatch, isLocalTrouble, type Store, StoreFailure } from "./ports/store.ts";
import { Refused } from "./refused.ts";
import type { Scratch, Settings } from "./settings.ts";
import { UnitOfWork } from "./unit-of-work.ts";

/** A batch is closed after so many commands or so much time, so that nobody else waits long for the event loop. */
const defaultBatch = { commands: 128, ms: 12 };

export type Committed = { commit: number; batch: CommitBatch; outboxLinks: ReadonlySet<LinkId> };

export type DispatcherOptions = {
  store: Store;
  /** Committed actors in memory, where others read them too; kept up to date here. */
  hot?: HotActors;
  clock: Clock;
  ids: Identifiers;
  settings: Settings;
  scratch: Scratch;
  /**
   * Commands that answer an effect at once, read from what is decided so far; null when the outside must be asked first.
   * They are decided in the same commit, and the effect is not kept.
   */
  answerNow?: ((request: EffectRequest, decided: Store) => Command[] | null) | undefined;
  /** Called right after each commit, before receipts are given out. */
  onCommitted(committed: Committed): void;
  /** The disk did not confirm a write: nothing in memory can be trusted, and the process must end. */
  onFatal(failure: StoreFailure): void;
  /** Named boundaries for crash tests: before and after each commit. */
  onBoundary?: ((name: string) => void) | undefined;
  /** Bounds of a batch, for tests that must not depend on how fast this machine is; default 128 commands and 12 ms. */
  batch?: { commands: number; ms: number };
};

type Decided = { waiting: Waiting; receipt: Receipt };

const noFacts: Facts = new Map();

/**
 * What is recognised by a key of its own: a repeat is decided anew and finds what is there already, whatever its command id
 * (decision 24). The receipt under the id is still what another payload conflicts with.
 */
const keyed: ReadonlySet<CommandType> = new Set(["thread.import"]);

/**
 * The one door. Commands that arrive together are decided one after the other in memory and written in one commit; a
 * refusal is decided before anything is written (contract §7).
 */
export class Dispatcher {
  readonly #o: DispatcherOptions;
  readonly #hot: HotActors;
  readonly #queue: CommandQueue;
  /** A batch is about to be decided, or decided and not yet written. */
  #isUnderWay = false;
  /** What waits for the batch that is under way. */
  #aside: (() => void)[] = [];
  /** Why nothing is taken any more; null while commands are welcome. */
  #ended: Refusal | null = null;

  constructor(options: DispatcherOptions) {
    this.#o = options;
    this.#hot = options.hot ?? new HotActors(options.store);
    this.#queue = new CommandQueue(options.clock, () => this.#schedule());
  }

  /** A command of a person, an agent or a peer: its receipt is kept under its id. */
  dispatch(command: PublicCommand, about: { id: CommandId; caller: Caller; facts?: Facts; digest?: string }): Promise<Receipt> {
    return this.#enqueue({
      command,
      id: about.id,
      caller: about.caller,
      facts: about.facts ?? noFacts,
      digest: about.digest ?? payloadDigest(command),
      closes: [],
    });
  }

  /** What the outside answered. `closes` names the effects that this settles, in the same commit. */
  report(command: Command, closes: readonly EffectId[] = [], facts: Facts = noFacts): Promise<Receipt> {
    return this.#enqueue(this.#reported(command, closes, facts));
  }

  /**
   * Runs work on the store itself while nothing is decided and not yet written. The actors are read anew afterwards: the
   * work may have changed what they hold (decision 0110). It is short: everybody waits for it.
   */
  alone<T>(work: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const run = () => {
        try {
          resolve(work());
        } catch (error) {
          reject(error);
        } finally {
          this.#hot.clear();
        }
      };
      if (this.#isUnderWay) this.#aside.push(run);
      else run();
    });
  }

  /** From here on nothing waits for the store: what it cannot take is refused, and found again by the next start. */
  holdNoMore(): void {
    this.#queue.holdNoMore();
  }

  /** Resolves when everything that was given before has been answered; refuses what comes later. */
  async close(): Promise<void> {
    this.#ended ??= closing;
    this.holdNoMore();
    while (this.#isUnderWay || !this.#queue.isEmpty) await new Promise((resolve) => setImmediate(resolve));
  }

  #enqueue(waiting: Omit<Waiting, "answer">): Promise<Receipt> {
    if (this.#ended !== null) return Promise.resolve(refused(waiting.id, this.#ended));
    return new Promise((answer) => this.#queue.add({ ...waiting, answer }));
  }

  #schedule(): void {
    if (this.#isUnderWay || this.#queue.isEmpty) return;
    this.#isUnderWay = true;
    setImmediate(() => this.#drain());
  }

  #drain(): void {
    const bounds = this.#o.batch ?? defaultBatch;
    const started = performance.now();
    const took = () => performance.now() - started;
    const batch: Waiting[] = [];
    const overlay = this.#overlay();
    const decided: Decided[] = [];
    const isOpen = () => batch.length === 0 || (batch.length < bounds.commands && took() < bounds.ms);
    for (let waiting = this.#queue.next(); waiting !== null; waiting = isOpen() ? this.#queue.next() : null) {
      batch.push(waiting);
      const before = overlay.effects.length;
      decided.push({ waiting, receipt: this.#decide(waiting, overlay) });
      this.#answerNow(overlay, before);
    }
    // What took long to decide takes long to write: in between, others get the event loop. Nothing else is decided before.
    if (took() < bounds.ms) this.#write(overlay, decided, batch);
    else setImmediate(() => this.#write(overlay, decided, batch));
  }

  #write(overlay: Overlay, decided: readonly Decided[], batch: readonly Waiting[]): void {
    const failure = this.#commit(overlay, decided);
    if (isFatal(failure)) this.#fail(failure, batch);
    else if (failure !== null) this.#apart(batch, failure);
    this.#isUnderWay = false;
    for (const work of this.#aside.splice(0)) work();
    this.#schedule();
  }

  /**
   * The disk did not confirm a write: whether it is there, only the next start can say. Nothing is acknowledged, nothing is
   * tried again, and nothing more is taken.
   */
  #fail(failure: StoreFailure, batch: readonly Waiting[]): void {
    const hint = `${failure.hint} Then repeat the command under its id: it is answered as it was decided.`;
    const unknown = refusal(
      "orchestration_error",
      failure.reason,
      `${failure.message}; whether the command was carried out is not known`,
      hint,
    );
    const left = [...batch, ...this.#queue.takeAll()];
    this.#ended = unknown;
    this.#o.onFatal(failure);
    for (const waiting of left) waiting.answer(refused(waiting.id, unknown));
  }

  /** One of them may be what the store refuses: alone, each stands for itself. Reports stay in their order. */
  #apart(batch: readonly Waiting[], together: Error): void {
    for (const [i, waiting] of batch.entries()) {
      if (this.#queue.staysBehindHeld(waiting)) continue;
      const failure = batch.length === 1 && this.#o.answerNow === undefined ? together : this.#alone(waiting);
      if (failure === null) continue;
      if (isFatal(failure)) {
        this.#fail(failure, batch.slice(i));
        return;
      }
      if (!isLocalTrouble(failure) || !this.#queue.hold(waiting)) waiting.answer(refused(waiting.id, storeRefusal(failure)));
    }
  }

  /** By itself, also without what would follow from it: that may be what the store refuses. */
  #alone(waiting: Waiting): Error | null {
    const overlay = this.#overlay();
    return this.#commit(overlay, [{ waiting, receipt: this.#decide(waiting, overlay) }]);
  }

  #overlay(): Overlay {
    return new Overlay(this.#o.store, this.#hot, this.#o.clock.now());
  }

  /** Writes what was decided and answers. Returns the failure when the store took nothing. */
  #commit(overlay: Overlay, decided: readonly Decided[]): Error | null {
    let commit = this.#o.store.lastCommit;
    if (!overlay.isEmpty) {
      const batch = overlay.toBatch();
      const name = this.#o.onBoundary === undefined ? "" : boundaryName(batch);
      this.#o.onBoundary?.(`before commit ${name}`);
      try {
        commit = this.#o.store.commit(batch);
      } catch (error) {
        this.#hot.clear();
        return error as Error;
      }
      this.#hot.put(batch.actors);
      this.#o.onBoundary?.(`after commit ${name}`);
      this.#o.onCommitted({ commit, batch, outboxLinks: overlay.outboxLinks });
    }
    for (const { waiting, receipt } of decided) waiting.answer(receipt.ok && !receipt.repeated ? { ...receipt, commit } : receipt);
    return null;
  }

  #decide(waiting: Waiting, overlay: Overlay): Receipt {
    try {
      return this.#receipt(waiting, overlay);
    } catch (error) {
      // A receipt that cannot be read is not taken for one that is not there: nothing is done a second time.
      return refused(waiting.id, storeRefusal(error));
    }
  }

  #receipt(waiting: Waiting, overlay: Overlay): Receipt {
    const before = waiting.digest === null ? null : overlay.receipt(waiting.id);
    if (before !== null) {
      if (before.digest !== waiting.digest) return refused(waiting.id, conflict(waiting.id));
      const stored = before.response as Receipt;
      if (!stored.ok || !keyed.has(waiting.command.type)) return repeated(stored);
    }
    const mark = overlay.mark();
    const receipt = this.#plan(waiting, overlay);
    if (!receipt.ok) overlay.undoTo(mark);
    // What was done before a refusal is undone; what an effect was for is closed all the same, and the refusal itself kept.
    for (const id of waiting.closes) overlay.setEffectState(id, "done", receipt.ok ? "" : receipt.refusal.message);
    if (waiting.digest !== null && before === null && (receipt.ok || !dependsOnOutside(receipt.refusal.code)))
      overlay.putReceipt({ commandId: waiting.id, digest: waiting.digest, response: receipt });
    return receipt;
  }

  /** Effects of the last command that can be answered without the outside: all of an answer is decided, or nothing of it. */
  #answerNow(overlay: Overlay, from: number): void {
    if (this.#o.answerNow === undefined) return;
    for (const { id, request } of overlay.effects.slice(from)) {
      const mark = overlay.mark();
      try {
        const commands = this.#o.answerNow(request, overlayStore(overlay));
        if (commands === null) continue;
        overlay.dropEffect(id);
        const answers = commands.map((command) => this.#plan(this.#reported(command), overlay));
        if (answers.every((answer) => answer.ok)) continue;
      } catch {
        // Whatever is wrong shows when the effect is carried out.
      }
      overlay.undoTo(mark);
    }
  }

  #reported(command: Command, closes: readonly EffectId[] = [], facts: Facts = noFacts): Omit<Waiting, "answer"> {
    return { command, id: this.#o.ids.next("cmd"), caller: { kind: "system" }, facts, digest: null, closes };
  }

  #plan(waiting: Omit<Waiting, "answer">, overlay: Overlay): Receipt {
    const { settings, scratch, ids } = this.#o;
    const outbox = new Outbox(overlay, settings);
    const uow = new UnitOfWork(overlay, ids, this.#o.clock.now(), outbox);
    try {
      const plan = plans[waiting.command.type] as Plan<typeof waiting.command.type>;
      const { caller, facts, id: commandId } = waiting;
      const context = { uow, overlay, outbox, settings, scratch, caller, commandId, facts };
      holdLinkFence(waiting.command.type, context);
      const result = plan(waiting.command as never, context);
      return { ok: true, commandId, commit: this.#o.store.lastCommit + 1, result, repeated: false };
    } catch (error) {
      if (error instanceof Refused) return refused(waiting.id, error.refusal);
      return refused(waiting.id, storeRefusal(error));
    }
  }
}

const isFatal = (failure: Error | null): failure is StoreFailure => failure instanceof StoreFailure && failure.reason === "sync_failed";
