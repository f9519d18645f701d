import type { Clock } from "../runtime/ports/clock.ts";

/** One timer that can be set again and taken back. */
export class Alarm {
  readonly #clock: Clock;
  readonly #ring: () => void;
  #cancel: (() => void) | null = null;
  #at = 0;

  constructor(clock: Clock, ring: () => void) {
    this.#clock = clock;
    this.#ring = ring;
  }

  /** Rings once at `at` (milliseconds since 1970); an earlier time that is set already stands. */
  setBy(at: number): void {
    if (this.#cancel !== null && this.#at <= at) return;
    this.set(at);
  }

  set(at: number): void {
    this.clear();
    this.#at = at;
    this.#cancel = this.#clock.after(Math.max(0, at - this.#clock.now()), () => {
      this.#cancel = null;
      this.#ring();
    });
  }

  clear(): void {
    this.#cancel?.();
    this.#cancel = null;
  }
}

/** Distances between tries: the first, then doubled each time up to the longest. */
export class Backoff {
  readonly #first: number;
  readonly #longest: number;
  #tries = 0;

  constructor(first: number, longest: number) {
    this.#first = first;
    this.#longest = longest;
  }

  next(): number {
    const distance = Math.min(this.#longest, this.#first * 2 ** Math.min(this.#tries, 30));
    this.#tries += 1;
    return distance;
  }

  reset(): void {
    this.#tries = 0;
  }
}
