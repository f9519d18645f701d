import type { Clock } from "../runtime/ports/clock.ts";
import type { Rate } from "./limits.ts";

/** Addresses that are told apart within a window; what comes beyond is counted as one. */
const maxAddresses = 10_000;
const others = "others";

/** Counts what comes from each address and from all, in windows of a fixed length. Nothing is kept beyond a window. */
export class RateLimit {
  readonly #clock: Clock;
  readonly #rate: Rate;
  #from: number;
  #inAll = 0;
  #byAddress = new Map<string, number>();

  constructor(clock: Clock, rate: Rate) {
    this.#clock = clock;
    this.#rate = rate;
    this.#from = clock.now();
  }

  /** How long an address has to wait, in milliseconds; 0 when it may go on. Counts nothing. */
  waitMs(address: string): number {
    const now = this.#turn();
    const full = this.#inAll >= this.#rate.inAll || (this.#byAddress.get(this.#key(address)) ?? 0) >= this.#rate.perAddress;
    return full ? this.#from + this.#rate.windowMs - now : 0;
  }

  count(address: string): void {
    this.#turn();
    const key = this.#key(address);
    this.#inAll += 1;
    this.#byAddress.set(key, (this.#byAddress.get(key) ?? 0) + 1);
  }

  /** Both: counts it where it may go on. */
  take(address: string): number {
    const wait = this.waitMs(address);
    if (wait === 0) this.count(address);
    return wait;
  }

  #key(address: string): string {
    return this.#byAddress.has(address) || this.#byAddress.size < maxAddresses ? address : others;
  }

  #turn(): number {
    const now = this.#clock.now();
    // A clock that was set back begins anew, too.
    if (now - this.#from >= this.#rate.windowMs || now < this.#from) {
      this.#from = now;
      this.#inAll = 0;
      this.#byAddress = new Map();
    }
    return now;
  }
}
