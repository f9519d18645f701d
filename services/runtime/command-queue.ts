import type { Caller, Command, Receipt } from "../../schemas/command.ts";
import type { CommandId, EffectId } from "../../schemas/ids.ts";
import type { Facts } from "./facts.ts";
import type { Clock } from "./ports/clock.ts";

/** A command that waits for its batch, and whoever waits for its receipt. */
export type Waiting = {
  command: Command;
  id: CommandId;
  caller: Caller;
  facts: Facts;
  /** Null for this environment's own reports: their machines recognise a repeat, no receipt is kept. */
  digest: string | null;
  /** Effects that are done with this command, closed in its commit. */
  closes: readonly EffectId[];
  answer(receipt: Receipt): void;
};

/** How soon what was held back by a passing trouble of the store is tried again. */
const retryMs = 250;

/**
 * Commands in the order in which they are decided. Reports that the store could not take are held and tried again, in
 * order: others may be refused and asked again, the outside says it once.
 */
export class CommandQueue {
  readonly #clock: Clock;
  readonly #onReady: () => void;
  #ready: Waiting[] = [];
  #held: Waiting[] = [];
  #mayHold = true;

  /** `onReady` is told whenever something may be there to decide. */
  constructor(clock: Clock, onReady: () => void) {
    this.#clock = clock;
    this.#onReady = onReady;
  }

  /** Nothing can be decided now; reports may be held all the same. */
  get isEmpty(): boolean {
    return this.#ready.length === 0;
  }

  add(waiting: Waiting): void {
    if (!this.staysBehindHeld(waiting)) this.#ready.push(waiting);
    this.#onReady();
  }

  next(): Waiting | null {
    return this.#ready.shift() ?? null;
  }

  /** Everything, held or not, in order. */
  takeAll(): Waiting[] {
    const all = [...this.#held, ...this.#ready];
    this.#held = [];
    this.#ready = [];
    return all;
  }

  /** A report does not overtake one that is held: then it is held behind it. */
  staysBehindHeld(waiting: Waiting): boolean {
    if (this.#held.length === 0 || !isReport(waiting)) return false;
    this.#held.push(waiting);
    return true;
  }

  /** Keeps a report for another try; false when this command is for its caller to repeat. */
  hold(waiting: Waiting): boolean {
    if (!this.#mayHold || !isReport(waiting)) return false;
    this.#held.push(waiting);
    this.#clock.after(retryMs, () => this.#release());
    return true;
  }

  /** What is held is tried once more, and nothing is held from here on. */
  holdNoMore(): void {
    this.#mayHold = false;
    this.#release();
  }

  #release(): void {
    this.#ready.unshift(...this.#held);
    this.#held = [];
    this.#onReady();
  }
}

/** Runs and effects have nobody else who would say it again; a link sends again by itself. */
const isReport = ({ digest, command }: Waiting) => digest === null && /^(run|effects)\.|^thread\.wake$/.test(command.type);
