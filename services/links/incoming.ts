import type { LinkPosition } from "../../schemas/link.ts";
import { BlobPointer, LinkBody } from "../../schemas/wire.ts";
import { contentDigest } from "../runtime/link-digest.ts";
import type { ReceiveOutcome } from "../runtime/ports/link-ledger.ts";
import { Alarm, Backoff } from "./alarm.ts";
import type { OpenedMessage } from "./envelope.ts";
import { InboundOrder, type IncomingMessage } from "./inbound-order.ts";
import { IncomingBlob } from "./incoming-blob.ts";
import type { LinkSide } from "./link-side.ts";

/** What the rest of the delivery does about what came in. */
export interface IncomingEvents {
  /** The store took something, or a repeat came: a receipt is owed. */
  receiptOwed(): void;
  /** The store has answered for something that it did not have to wait for any more. */
  applied(): void;
  /** Something is missing that the peer must say or send again. */
  missing(): void;
  diverged(): void;
}

/** Gives the peer's messages to the store, in order: the driver of {@link InboundOrder}. */
export class Incoming {
  readonly #side: LinkSide;
  readonly #events: IncomingEvents;
  readonly #order: InboundOrder;
  readonly #blob: IncomingBlob;
  readonly #retry: Alarm;
  readonly #backoff: Backoff;
  #received: LinkPosition | null;
  #applying: Promise<void> | null = null;
  #busy = false;
  #blocked = false;
  #stopped = false;

  constructor(side: LinkSide, events: IncomingEvents) {
    const { options, clock } = side;
    this.#side = side;
    this.#events = events;
    this.#received = side.ledger.state(side.linkId).received;
    this.#order = new InboundOrder(this.#received, { messages: options.reorderMessages, bytes: options.reorderBytes });
    this.#blob = new IncomingBlob(side, (message, bytes) => {
      this.#order.resolve(message, bytes);
      void this.#applyAlone();
    });
    this.#backoff = new Backoff(options.retryMs, options.retryMaxMs);
    this.#retry = new Alarm(clock, () => {
      this.#blocked = false;
      void this.#applyAlone();
    });
  }

  /** How far this store has the peer's direction. */
  get received(): LinkPosition | null {
    return this.#received;
  }

  /** The peer has sent what this store does not have. */
  get behind(): boolean {
    return this.#order.behind;
  }

  /** The next message is here, and something keeps it from being given to the store. */
  get holdsNext(): boolean {
    return this.#order.peek() !== null;
  }

  /** An authentic numbered message came. */
  offer(opened: OpenedMessage): void {
    const { statistics } = this.#side;
    const { epoch } = this.#order.expects;
    const place = this.#order.offer(toMessage(opened, this.#side.options.maxBlobBytes));
    if (place === "repeat") {
      statistics.repeats += 1;
      this.#events.receiptOwed();
    }
    if (place === "early") this.#events.missing();
    if (this.#order.expects.epoch !== epoch) this.#blocked = false;
  }

  /** What the store waited for may be there now. */
  async tryAgain(): Promise<void> {
    if (!this.#blocked) return;
    this.#blocked = false;
    await this.apply();
  }

  /** Gives the store what is in order; resolves when it has answered for all of it. */
  apply(): Promise<void> {
    if (this.#applying !== null) return this.#applying;
    const applying = this.#applyAll();
    if (this.#busy) this.#applying = applying;
    return applying;
  }

  /** Nothing is given to the store any more; resolves when it has answered. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#blob.stop();
    this.#retry.clear();
    await this.#applying;
  }

  /** Outside of what the transport handed over, so nobody else sends the receipt. */
  async #applyAlone(): Promise<void> {
    await this.apply();
    this.#events.applied();
  }

  async #applyAll(): Promise<void> {
    this.#busy = true;
    try {
      while (!this.#stopped && !this.#blocked && !this.#side.statistics.diverged && !this.#side.statistics.revoked) {
        const run = this.#order.take(this.#side.options.applyMessages);
        if (run.length === 0) break;
        await this.#applyRun(run);
      }
      const next = this.#order.peek();
      if (next?.content.is === "blob" && !this.#blocked) this.#blob.want(next, next.content.pointer);
    } finally {
      // In one step with the last look at the order: what is offered later finds nobody at work.
      this.#busy = false;
      this.#applying = null;
    }
  }

  async #applyRun(run: IncomingMessage[]): Promise<void> {
    const outcomes = await Promise.all(run.map((message) => this.#receive(message)));
    const notTaken: IncomingMessage[] = [];
    let trouble: string | null = null;
    let diverged = false;
    let taken = false;
    for (const [index, outcome] of outcomes.entries()) {
      const message = run[index];
      if (message === undefined) continue;
      switch (outcome.outcome) {
        case "applied":
        case "old":
          this.#received = outcome.received;
          taken = true;
          if (outcome.outcome === "applied") this.#side.statistics.received += 1;
          else this.#side.statistics.repeats += 1;
          break;
        case "diverged":
          diverged = true;
          break;
        case "gap":
        case "waiting":
          // What follows a message that was not taken is answered `gap`; the first answer names the reason.
          trouble ??= outcome.outcome === "waiting" ? outcome.reason : "the store misses an earlier message";
          if (outcome.outcome === "gap" && notTaken.length === 0) this.#received = outcome.received;
          notTaken.push(message);
      }
    }
    if (taken) this.#events.receiptOwed();
    if (diverged) return this.#events.diverged();
    if (trouble === null) return this.#flowing();
    this.#order.putBack(this.#received, notTaken);
    // The store may miss a message, or wait for where the peer stands. Asked once; the exchange asks on by itself.
    if (this.#side.statistics.waiting === null) this.#events.missing();
    this.#wait(trouble);
  }

  async #receive(message: IncomingMessage): Promise<ReceiveOutcome> {
    const { ledger, linkId, statistics } = this.#side;
    const { incarnation, epoch, number, commit, content } = message;
    const plain = readContent(content);
    const body = message.kind === null || plain.body?.type !== message.kind ? null : plain.body;
    const requestId = body !== null && body.type !== "notice" ? body.requestId : message.requestId;
    try {
      const outcome = await ledger.receive(linkId, {
        incarnation,
        epoch,
        number,
        contentDigest: plain.digest,
        body,
        raw: plain.raw,
        requestId,
        commit,
      });
      if (outcome.outcome === "applied" && body === null) statistics.refused.unusable += 1;
      return outcome;
    } catch (error) {
      return { outcome: "waiting", reason: error instanceof Error ? error.message : String(error) };
    }
  }

  #flowing(): void {
    this.#backoff.reset();
    this.#side.statistics.waiting = null;
  }

  #wait(reason: string): void {
    const { statistics, clock, log, linkId } = this.#side;
    if (statistics.waiting === null) log.warn({ linkId, reason }, "the link waits");
    statistics.waiting = { reason, since: statistics.waiting?.since ?? clock.now() };
    this.#blocked = true;
    this.#retry.set(clock.now() + this.#backoff.next());
  }
}

function toMessage(opened: OpenedMessage, maxBlobBytes: number): IncomingMessage {
  const { head, body } = opened;
  const { incarnation, epoch, number, commit, requestId } = head;
  const message = { incarnation, epoch, number, commit, requestId };
  const plain = { ...message, kind: opened.usable ? opened.head.kind : null, content: { is: "plain" as const, bytes: body } };
  if (head.carries !== "blob") return plain;
  const pointer = BlobPointer.safeParse(parseJson(body));
  if (pointer.success && opened.usable && pointer.data.bytes <= maxBlobBytes) {
    return { ...message, kind: opened.head.kind, content: { is: "blob", pointer: pointer.data } };
  }
  // It takes its number under the digest of the body that it points to, and is never fetched.
  return { ...plain, kind: null, ...(pointer.success ? { content: { ...plain.content, digest: pointer.data.digest } } : {}) };
}

function readContent(content: IncomingMessage["content"]): { raw: string; digest: string; body: LinkBody | null } {
  if (content.is === "blob") throw new Error("a message was taken before its blob was there");
  const raw = content.bytes.toString();
  const body = LinkBody.safeParse(parseJson(content.bytes, raw));
  return { raw, digest: content.digest ?? contentDigest(content.bytes), body: body.success ? body.data : null };
}

function parseJson(bytes: Buffer, text: string = bytes.toString()): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
