import type { Clock } from "../../services/runtime/ports/clock.ts";

/** A clock that stands until it is moved. */
export class ManualClock implements Clock {
  #now = 1_000_000;
  #serial = 0;
  #timers: { at: number; serial: number; callback: () => void }[] = [];

  now(): number {
    return this.#now;
  }

  after(ms: number, callback: () => void): () => void {
    this.#serial += 1;
    const timer = { at: this.#now + Math.max(0, ms), serial: this.#serial, callback };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  /** Lets everything run that waits for no timer, then moves to the next timer; until `done` or `ms` have passed. False for the latter. */
  async runUntil(done: () => boolean, ms: number): Promise<boolean> {
    const end = this.#now + ms;
    for (;;) {
      await quiet();
      if (done()) return true;
      const next = this.#timers.toSorted((a, b) => a.at - b.at || a.serial - b.serial)[0];
      if (next === undefined || next.at > end) {
        this.#now = end;
        return false;
      }
      this.#timers = this.#timers.filter((other) => other !== next);
      this.#now = next.at;
      next.callback();
    }
  }

  /** Moves on by `ms`, running what falls due. */
  async advance(ms: number): Promise<void> {
    await this.runUntil(() => false, ms);
  }
}

/** Everything that was ready has run. Two rounds: an immediate may have been set by a promise. */
async function quiet(): Promise<void> {
  for (let round = 0; round < 3; round += 1) await new Promise<void>((resolve) => setImmediate(resolve));
}
