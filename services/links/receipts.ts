import { Alarm, Backoff } from "./alarm.ts";
import { type LinkSide, sendControl } from "./link-side.ts";

/**
 * Tells the peer what this store has. One receipt is under way at a time; what becomes owed meanwhile goes with the next,
 * so a busy link sends few and an idle one at once. A receipt that is lost is made good by the next or by an exchange.
 */
export class Receipts {
  readonly #side: LinkSide;
  readonly #alarm: Alarm;
  readonly #backoff: Backoff;
  #owed = false;
  #sending = false;
  #ended: (() => void)[] = [];

  constructor(side: LinkSide) {
    this.#side = side;
    this.#backoff = new Backoff(side.options.retryMs, side.options.retryMaxMs);
    this.#alarm = new Alarm(side.clock, () => this.send());
  }

  owe(): void {
    this.#owed = true;
  }

  /** Sends what is owed. */
  send(): void {
    if (this.#owed && !this.#sending) void this.#sendAll();
  }

  async stop(): Promise<void> {
    this.#owed = false;
    this.#alarm.clear();
    if (this.#sending) await new Promise<void>((resolve) => this.#ended.push(resolve));
  }

  async #sendAll(): Promise<void> {
    this.#sending = true;
    while (this.#owed) {
      const { received } = this.#side.ledger.state(this.#side.linkId);
      if (received === null || this.#side.statistics.diverged) break;
      this.#owed = false;
      if (await sendControl(this.#side, { type: "receipt", received })) {
        this.#backoff.reset();
        continue;
      }
      // Connecting sends it as well.
      this.#owed = true;
      this.#alarm.set(this.#side.clock.now() + this.#backoff.next());
      break;
    }
    this.#sending = false;
    for (const resolve of this.#ended.splice(0)) resolve();
  }
}
