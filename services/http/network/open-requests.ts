import type { ServerResponse } from "node:http";

type Open = { caller: string; outgoing: ServerResponse; isGood: () => boolean };

/** The requests that are being answered, streams among them, by whose they are. */
export class OpenRequests {
  readonly #most: number;
  readonly #open = new Set<Open>();
  readonly #counts = new Map<string, number>();

  /** `most`: how many one caller has open at once. */
  constructor(most: number) {
    this.#most = most;
  }

  /** False when this caller has too many open. `isGood` says whether its token still is. */
  add(caller: string, outgoing: ServerResponse, isGood: () => boolean): boolean {
    const count = this.#counts.get(caller) ?? 0;
    if (count >= this.#most) return false;
    const one = { caller, outgoing, isGood };
    this.#open.add(one);
    this.#counts.set(caller, count + 1);
    outgoing.once("close", () => {
      if (!this.#open.delete(one)) return;
      const left = (this.#counts.get(caller) ?? 1) - 1;
      if (left === 0) this.#counts.delete(caller);
      else this.#counts.set(caller, left);
    });
    return true;
  }

  /** Ends those whose token is not good any more, in the middle of whatever they are told. */
  recheck(): void {
    for (const { outgoing, isGood } of this.#open) if (!isGood()) outgoing.destroy();
  }
}
