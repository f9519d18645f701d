import type { Clock } from "./ports/clock.ts";

type Timer = { due: number; serial: number; callback: () => void };

/** Far more timers than any simulation needs: beyond, it is a timer that sets itself again without time passing. */
const mostSteps = 1_000_000;

/**
 * The clock's memory twin, for tests and simulation (decision 10): it stands until it is moved, and runs what falls due in
 * order. Two runs with the same calls see the same times.
 */
export class MemoryClock implements Clock {
  #now: number;
  #serial = 0;
  #timers: Timer[] = [];

  /** Begins at `start`, in milliseconds since 1970. */
  constructor(start = 1_000_000) {
    this.#now = start;
  }

  now(): number {
    return this.#now;
  }

  after(ms: number, callback: () => void): () => void {
    this.#serial += 1;
    const timer = { due: this.#now + Math.max(0, ms), serial: this.#serial, callback };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  /** When the next timer falls due, in milliseconds since 1970; null when none waits. */
  get nextDue(): number | null {
    return this.#next()?.due ?? null;
  }

  /**
   * Lets everything run that waits for no timer, then moves to the next timer, and so on, until `done` or until `ms` have
   * passed. False for the latter.
   */
  async runUntil(done: () => boolean, ms: number): Promise<boolean> {
    const end = this.#now + ms;
    for (let step = 0; step < mostSteps; step += 1) {
      await quiet();
      if (done()) return true;
      const next = this.#next();
      if (next === undefined || next.due > end) {
        this.#now = end;
        return false;
      }
      this.#timers = this.#timers.filter((other) => other !== next);
      this.#now = next.due;
      next.callback();
    }
    throw new Error(`${mostSteps} timers ran without an end`);
  }

  /** Moves on by `ms`, running what falls due. */
  async advance(ms: number): Promise<void> {
    await this.runUntil(() => false, ms);
  }

  #next(): Timer | undefined {
    return this.#timers.reduce<Timer | undefined>(
      (first, t) => (first === undefined || t.due < first.due || (t.due === first.due && t.serial < first.serial) ? t : first),
      undefined,
    );
  }
}

/** Everything that was ready has run: an immediate may have been set by a promise, and a promise by an immediate. */
async function quiet(): Promise<void> {
  for (let round = 0; round < 3; round += 1) await new Promise<void>((resolve) => setImmediate(resolve));
}
