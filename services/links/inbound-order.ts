import type { IncarnationId, RequestId } from "../../schemas/ids.ts";
import type { LinkPosition } from "../../schemas/link.ts";
import type { BlobPointer, EnvelopeHead } from "../../schemas/wire.ts";

/** An authentic numbered message that waits for its turn. */
export type IncomingMessage = {
  incarnation: IncarnationId;
  epoch: number;
  number: number;
  commit: number;
  requestId: RequestId | null;
  /** Null when the head is of a version that is not known here: the message takes its number and is never applied. */
  kind: EnvelopeHead["kind"] | null;
  content: IncomingContent;
};
type IncomingContent =
  /** `digest` of the body, where it is known already. */
  { is: "plain"; bytes: Buffer; digest?: string } | { is: "blob"; pointer: BlobPointer };

/**
 * In which order messages of the peer's direction are given to the store. No I/O, no clock.
 *
 * Invariants
 * I1 Only the message after the last one that the store took is given to it.
 * I2 A repeat is never given again; it is answered with a receipt.
 * I3 What came too early is held within `messages` and `bytes`; beyond that it is let go, for its sender keeps it. The
 *    next message itself is always held.
 * I4 A higher epoch begins at 1 and ends what was held of a lower one; a lower epoch is let go.
 */
export class InboundOrder {
  readonly #limits: { messages: number; bytes: number };
  #epoch: number;
  #last: number;
  #seen: number;
  #held = new Map<number, IncomingMessage>();
  #bytes = 0;

  constructor(received: LinkPosition | null, limits: { messages: number; bytes: number }) {
    this.#limits = limits;
    this.#epoch = received?.epoch ?? 0;
    this.#last = received?.number ?? 0;
    this.#seen = this.#last;
  }

  /** `next`: it can be taken now, or after others that are here. `early`: something before it is missing. */
  offer(message: IncomingMessage): "next" | "early" | "repeat" | "let_go" {
    if (message.epoch < this.#epoch) return "let_go";
    if (message.epoch > this.#epoch) this.#begin(message.epoch, 0);
    this.#seen = Math.max(this.#seen, message.number);
    if (message.number <= this.#last) return "repeat";
    const bytes = sizeOf(message);
    const next = message.number === this.#last + 1;
    // Kept even when it is a repeat of a held one: it may point to another put of its blob.
    this.#remove(message.number);
    if (next) this.#makeRoom(bytes);
    else if (!this.#fits(message.number, bytes)) return this.peek() === null ? "early" : "let_go";
    this.#held.set(message.number, message);
    this.#bytes += bytes;
    return this.peek() === null ? "early" : "next";
  }

  /** The message whose turn it is, when it is here. */
  peek(): IncomingMessage | null {
    return this.#held.get(this.#last + 1) ?? null;
  }

  /** Consecutive plain messages from the next one on; they count as given to the store. */
  take(limit: number): IncomingMessage[] {
    const run: IncomingMessage[] = [];
    for (let next = this.peek(); next !== null && next.content.is === "plain" && run.length < limit; next = this.peek()) {
      this.#remove(next.number);
      this.#last = next.number;
      run.push(next);
    }
    return run;
  }

  /** The blob of the next message is here, and is what its digest names. */
  resolve(message: IncomingMessage, bytes: Buffer): void {
    if (this.peek() !== message) return;
    this.#remove(message.number);
    const digest = message.content.is === "blob" ? message.content.pointer.digest : undefined;
    this.#held.set(message.number, { ...message, content: { is: "plain", bytes, ...(digest === undefined ? {} : { digest }) } });
    this.#bytes += bytes.length;
  }

  /** The store stands at `received` after all, and did not take `messages`: they wait again. */
  putBack(received: LinkPosition | null, messages: IncomingMessage[]): void {
    const epoch = received?.epoch ?? this.#epoch;
    if (epoch === this.#epoch) this.#last = received?.number ?? 0;
    else if (epoch < this.#epoch) this.#last = 0;
    else this.#begin(epoch, received?.number ?? 0);
    for (const message of messages) this.offer(message);
    for (const number of [...this.#held.keys()]) if (number <= this.#last) this.#remove(number);
  }

  /** The peer has sent something that was not given to the store yet. */
  get behind(): boolean {
    return this.#seen > this.#last;
  }

  get held(): number {
    return this.#held.size;
  }

  get expects(): { epoch: number; number: number } {
    return { epoch: this.#epoch, number: this.#last + 1 };
  }

  #begin(epoch: number, last: number): void {
    this.#epoch = epoch;
    this.#last = last;
    this.#seen = last;
    this.#held.clear();
    this.#bytes = 0;
  }

  #fits(number: number, bytes: number): boolean {
    return number <= this.#last + this.#limits.messages && this.#bytes + bytes <= this.#limits.bytes;
  }

  /** Lets the latest go until the next one fits, or is alone. */
  #makeRoom(bytes: number): void {
    while (this.#held.size > 0 && this.#bytes + bytes > this.#limits.bytes) this.#remove(Math.max(...this.#held.keys()));
  }

  #remove(number: number): void {
    const message = this.#held.get(number);
    if (message === undefined) return;
    this.#held.delete(number);
    this.#bytes -= sizeOf(message);
  }
}

function sizeOf(message: IncomingMessage): number {
  return message.content.is === "plain" ? message.content.bytes.length : 256;
}
