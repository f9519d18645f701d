type Waiting = { resolve(): void; reject(error: unknown): void };

/**
 * Purges of threads that are asked for together: emptied one after the other, so that whoever sends meanwhile waits for a
 * step of one of them at most, and with one rewriting of the store's file for all, since that holds everybody up.
 */
export class InTurn {
  readonly #compact: () => Promise<void>;
  #last: Promise<unknown> = Promise.resolve();
  #open = 0;
  #waiting: Waiting[] = [];
  #isStopped = false;

  constructor(compact: () => Promise<void>) {
    this.#compact = compact;
  }

  /** Resolves when this has been done and the file was rewritten after it. Rejects where it was not begun because of `stop`. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    this.#open += 1;
    const done = this.#last.then(() => {
      if (this.#isStopped) throw new Error("the environment stops: it is left to the next start");
      return work();
    });
    this.#last = done.catch(() => undefined);
    const compacted = done.then(() => new Promise<void>((resolve, reject) => this.#waiting.push({ resolve, reject })));
    const leave = () => this.#leave();
    void done.then(leave, leave);
    await compacted;
    return done;
  }

  /** What has not begun does not begin any more. */
  stop(): void {
    this.#isStopped = true;
  }

  #leave(): void {
    this.#open -= 1;
    if (this.#open > 0 || this.#waiting.length === 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    const settle = (how: (one: Waiting) => void) => {
      for (const one of waiting) how(one);
    };
    this.#compact().then(
      () => settle((one) => one.resolve()),
      (error) => settle((one) => one.reject(error)),
    );
  }
}
