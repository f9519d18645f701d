import type { LinkPosition } from "../../schemas/link.ts";

/**
 * Which messages of our direction are handed to the fabric, and from where they are handed over again. No I/O, no clock.
 *
 *        receipted            cursor                 written
 *     ───────┼───────────────────┼──────────────────────┼──▶ number
 *      peer's│ handed over, may  │ in the store, not    │
 *      store │ be lost, kept     │ handed over yet      │
 *
 * Invariants
 * W1 Messages are handed over in order: after `cursor` only `cursor + 1`.
 * W2 The cursor never stands below `receipted`: what the peer's store has is not sent again.
 * W3 At most `messages` and `bytes` are handed over and not receipted; one message alone may be larger than `bytes`.
 * W4 Only a receipt moves `receipted`. Failures and losses only move the cursor back. Time chooses when a message is
 *    repeated, never whether it was received.
 * W5 A place that the peer is stuck at is repeated at growing distances, until a receipt passes it.
 */
export class OutboundWindow {
  readonly #limits: { messages: number; bytes: number };
  readonly #repeat: { settleMs: number; maxMs: number };
  #receipted: LinkPosition;
  /** Handed over and not receipted, from receipted + 1 on; the first `#dropped` are behind already. */
  #handed: { position: LinkPosition; bytes: number }[] = [];
  #dropped = 0;
  #bytes = 0;
  #unconfirmed = new Set<number>();
  #pass = 0;
  #behind: { number: number; at: number } | null = null;
  #stuck: { number: number; at: number; times: number } | null = null;

  constructor(receipted: LinkPosition, limits: { messages: number; bytes: number }, repeat: { settleMs: number; maxMs: number }) {
    this.#receipted = receipted;
    this.#limits = limits;
    this.#repeat = repeat;
  }

  get epoch(): number {
    return this.#receipted.epoch;
  }

  /** Changes whenever the cursor moved back: what was begun in an older pass is void. */
  get pass(): number {
    return this.#pass;
  }

  get receipted(): LinkPosition {
    return this.#receipted;
  }

  get cursor(): LinkPosition {
    return this.outstanding ? (this.#handed.at(-1)?.position ?? this.#receipted) : this.#receipted;
  }

  /** The highest number of which the fabric has said, with all before it, that it took it. */
  get confirmed(): number {
    let lowest = this.cursor.number + 1;
    for (const number of this.#unconfirmed) lowest = Math.min(lowest, number);
    return lowest - 1;
  }

  get outstanding(): boolean {
    return this.#handed.length > this.#dropped;
  }

  room(): { messages: number; bytes: number } {
    const messages = this.#limits.messages - (this.#handed.length - this.#dropped);
    return { messages: Math.max(0, messages), bytes: Math.max(0, this.#limits.bytes - this.#bytes) };
  }

  /** The next message goes to the fabric; `taken` or `failed` follows. */
  hand(position: LinkPosition, bytes: number): void {
    if (position.number !== this.cursor.number + 1) throw new Error(`message ${position.number} after ${this.cursor.number}`);
    this.#handed.push({ position, bytes });
    this.#bytes += bytes;
    this.#unconfirmed.add(position.number);
  }

  /** The fabric took the messages from `first` to `last`. */
  taken(first: number, last: number, pass: number): void {
    if (pass !== this.#pass) return;
    for (let number = first; number <= last; number += 1) this.#unconfirmed.delete(number);
  }

  /** The fabric did not take `first` and what travelled with it: they and what followed go again. */
  failed(first: number, pass: number): void {
    if (pass === this.#pass) this.#back(first - 1);
  }

  /** The connection is gone: what the fabric had not confirmed goes again. */
  disconnected(): void {
    if (this.#unconfirmed.size > 0) this.#back(this.confirmed);
  }

  /** The fabric may have lost everything: all without a receipt goes again. */
  renewed(): void {
    this.#back(this.#receipted.number);
  }

  /** Another epoch, or another beginning. */
  restart(receipted: LinkPosition): void {
    this.#receipted = receipted;
    this.#handed = [];
    this.#dropped = 0;
    this.#bytes = 0;
    this.#unconfirmed.clear();
    this.#pass += 1;
    this.#behind = null;
    this.#stuck = null;
  }

  /** The peer's store has everything up to here. False for an older receipt. */
  receipt(position: LinkPosition): boolean {
    if (position.epoch !== this.epoch || position.number <= this.#receipted.number) return false;
    // A receipt for an earlier pass can be ahead of the cursor; what was about to be handed over is not needed any more.
    if (position.number > this.cursor.number) this.#pass += 1;
    this.#receipted = position;
    while (this.outstanding) {
      const first = this.#handed[this.#dropped];
      if (first === undefined || first.position.number > position.number) break;
      this.#bytes -= first.bytes;
      this.#unconfirmed.delete(first.position.number);
      this.#dropped += 1;
    }
    if (this.#dropped > 256 && this.#dropped * 2 > this.#handed.length) {
      this.#handed = this.#handed.slice(this.#dropped);
      this.#dropped = 0;
    }
    if (this.#behind !== null && this.#behind.number < position.number) this.#behind = null;
    if (this.#stuck !== null && this.#stuck.number < position.number) this.#stuck = null;
    return true;
  }

  /**
   * The peer said that it has our messages up to `number` and no more. `provenThrough`: what the fabric had confirmed
   * before the peer was asked, when this is its answer; a message up to there that it still lacks is lost. Without, it
   * may only be on its way, and gets `settleMs` to arrive. Returns when {@link repeatIfDue} is to be called, or null.
   */
  peerHas(number: number, provenThrough: number | null, now: number): number | null {
    const has = Math.max(number, this.#receipted.number);
    if (has >= this.cursor.number) {
      this.#behind = null;
      return null;
    }
    const lost = provenThrough !== null && has < provenThrough;
    let at = now + (lost ? 0 : this.#repeat.settleMs);
    if (this.#stuck?.number === has) at = Math.max(at, this.#stuck.at + this.#pause(this.#stuck.times));
    if (this.#behind?.number === has) at = Math.min(at, this.#behind.at);
    this.#behind = { number: has, at };
    return at;
  }

  /** Moves the cursor back when the peer still lacks what it lacked; true when it did. */
  repeatIfDue(now: number): boolean {
    const behind = this.#behind;
    if (behind === null || now < behind.at) return false;
    this.#behind = null;
    if (this.cursor.number <= behind.number) return false;
    const times = this.#stuck?.number === behind.number ? this.#stuck.times + 1 : 1;
    this.#stuck = { number: behind.number, at: now, times };
    this.#back(behind.number);
    return true;
  }

  #pause(times: number): number {
    return Math.min(this.#repeat.maxMs, this.#repeat.settleMs * 2 ** Math.min(times, 20));
  }

  /** Takes back what lies after `number`. What has a receipt is not here any more, so the cursor cannot fall below it. */
  #back(number: number): void {
    while (this.outstanding && this.cursor.number > number) {
      const last = this.#handed.pop();
      if (last === undefined) break;
      this.#bytes -= last.bytes;
      this.#unconfirmed.delete(last.position.number);
    }
    this.#pass += 1;
  }
}
