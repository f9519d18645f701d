import type { LinkPosition } from "../../schemas/link.ts";
import type { LinkLedgerState, OutboxMessage } from "../runtime/ports/link-ledger.ts";
import { digestOrigin } from "../runtime/ports/link-ledger.ts";
import { PublishError } from "../runtime/ports/link-transport.ts";
import { Alarm, Backoff } from "./alarm.ts";
import type { LinkSide } from "./link-side.ts";
import { OutboundWindow } from "./outbound-window.ts";
import { OutgoingBlobs } from "./outgoing-blobs.ts";

/** Hands our direction's messages to the fabric: the driver of {@link OutboundWindow}. */
export class Outgoing {
  readonly #side: LinkSide;
  readonly #window: OutboundWindow;
  readonly #blobs: OutgoingBlobs;
  readonly #pumpAlarm: Alarm;
  readonly #repeatAlarm: Alarm;
  readonly #backoff: Backoff;
  #open = false;
  #pumping = false;
  #again = false;
  #inFlight = 0;
  #highest = 0;
  #heldUntil = 0;
  #resending = new Set<string>();
  #idle: (() => void)[] = [];

  constructor(side: LinkSide) {
    const { options, clock } = side;
    this.#side = side;
    this.#window = new OutboundWindow(
      beginning(side.ledger.state(side.linkId)),
      { messages: options.windowMessages, bytes: options.windowBytes },
      { settleMs: options.settleMs, maxMs: options.retryMaxMs },
    );
    this.#blobs = new OutgoingBlobs(side);
    this.#backoff = new Backoff(options.retryMs, options.retryMaxMs);
    this.#pumpAlarm = new Alarm(clock, () => this.pump());
    this.#repeatAlarm = new Alarm(clock, () => {
      if (this.#window.repeatIfDue(clock.now())) this.pump();
    });
  }

  /** Something was handed over and has no receipt. */
  get outstanding(): boolean {
    return this.#window.outstanding;
  }

  /** What the fabric has taken, with all before it. */
  get confirmed(): LinkPosition {
    return { ...this.#window.receipted, number: this.#window.confirmed };
  }

  /** The transport is connected and nothing forbids sending. */
  open(): void {
    this.#open = true;
    this.#release();
    this.pump();
  }

  /** The transport is gone, or the link may not send. */
  shut(): void {
    this.#open = false;
    this.#pumpAlarm.clear();
    this.#window.disconnected();
  }

  /** The fabric's copy of our direction is gone. */
  renewed(): void {
    this.#blobs.renewed();
    this.#window.renewed();
    this.pump();
  }

  /** The store has taken a receipt up to here. */
  receipted(position: LinkPosition): void {
    if (!this.#window.receipt(position)) return;
    this.#blobs.receipted(position);
    this.pump();
  }

  /** See {@link OutboundWindow.peerHas}. */
  peerHas(number: number, provenThrough: number | null): void {
    const at = this.#window.peerHas(number, provenThrough, this.#side.clock.now());
    if (at === null) this.#repeatAlarm.clear();
    else this.#repeatAlarm.set(at);
  }

  /** The peer waits for a blob of ours: it is put and its message sent again. */
  blobWanted(digest: string): void {
    if (this.#resending.has(digest) || !this.#open) return;
    const after = this.#blobs.lost(digest);
    // Not put in this process's life: its message was not sent yet either, or is older than the cursor's beginning.
    if (after === null) return;
    this.#resending.add(digest);
    const [message] = this.#side.ledger.outbox(this.#side.linkId, after, { messages: 1, bytes: 1 });
    const resent = message?.number === after.number + 1 ? this.#sendAgain(message, after) : Promise.resolve();
    resent
      .catch((error: unknown) => this.#refused(error))
      .finally(() => {
        this.#resending.delete(digest);
        this.#settleIdle();
      });
  }

  /** Hands over what may be handed over. Cheap when there is nothing. */
  pump(): void {
    this.#again = true;
    if (this.#pumping) return;
    this.#pumping = true;
    this.#pump().catch((error: unknown) => {
      this.#side.log.warn({ linkId: this.#side.linkId, error: String(error) }, "sending failed");
      this.#hold(this.#backoff.next());
    });
  }

  /** Resolves when no publish is under way any more. */
  async stop(): Promise<void> {
    this.shut();
    this.#repeatAlarm.clear();
    while (this.#inFlight > 0 || this.#pumping || this.#resending.size > 0) {
      await new Promise<void>((resolve) => this.#idle.push(resolve));
    }
  }

  async #pump(): Promise<void> {
    try {
      while (this.#again) {
        this.#again = false;
        while (this.#mayHand()) {
          if (!(await this.#handSome())) break;
        }
      }
    } finally {
      this.#pumping = false;
      this.#settleIdle();
    }
  }

  #mayHand(): boolean {
    return this.#open && this.#side.clock.now() >= this.#heldUntil && this.#inFlight < this.#side.options.publishesInFlight;
  }

  /** One read of the outbox; false when there is nothing to do for now. */
  async #handSome(): Promise<boolean> {
    const { ledger, linkId, options } = this.#side;
    const window = this.#window;
    const room = window.room();
    const messages = Math.min(room.messages, options.publishesInFlight - this.#inFlight, 64);
    if (messages === 0 || room.bytes === 0) return false;
    const batch = ledger.outbox(linkId, window.cursor, { messages, bytes: room.bytes });
    if (batch.length === 0) return false;
    const pass = window.pass;
    for (const message of batch) {
      if (message.epoch !== window.epoch || message.number !== window.cursor.number + 1) return this.#realign();
      let payload = this.#sealed(message);
      if (payload instanceof Promise) {
        try {
          payload = await payload;
        } catch (error) {
          this.#refused(error);
          return false;
        }
        if (pass !== window.pass || !this.#open) return true;
      }
      this.#hand(message, payload);
    }
    return true;
  }

  #hand(message: OutboxMessage, payload: Uint8Array): void {
    const { transport, out, statistics } = this.#side;
    const { number } = message;
    const pass = this.#window.pass;
    this.#window.hand({ epoch: message.epoch, number, digest: message.digest }, payload.length);
    statistics.sent += 1;
    if (number <= this.#highest) statistics.repeated += 1;
    this.#highest = Math.max(this.#highest, number);
    this.#inFlight += 1;
    transport
      .publish(out, payload)
      .then(
        () => {
          this.#window.taken(number, pass);
          this.#release();
        },
        (error: unknown) => {
          this.#window.failed(number, pass);
          this.#refused(error);
        },
      )
      .finally(() => {
        this.#inFlight -= 1;
        // Woken by the half, so that one read of the outbox feeds many publishes.
        if (this.#inFlight <= this.#side.options.publishesInFlight / 2) this.pump();
        this.#settleIdle();
      });
  }

  #sealed(message: OutboxMessage): Uint8Array | Promise<Uint8Array> {
    // A body has at least as many bytes as characters, so most are not counted twice.
    const large =
      message.body.length * 3 > this.#side.options.inlineBytes && Buffer.byteLength(message.body) > this.#side.options.inlineBytes;
    if (!large) return this.#envelope(message, Buffer.from(message.body), "body");
    return this.#blobs
      .pointerFor(message, this.#window.cursor)
      .then((pointer) => this.#envelope(message, Buffer.from(JSON.stringify(pointer)), "blob"));
  }

  #envelope(message: OutboxMessage, body: Buffer, carries: "body" | "blob"): Uint8Array {
    const { seal, incarnation, clock } = this.#side;
    return seal.seal(
      {
        incarnation,
        commit: message.commit,
        epoch: message.epoch,
        number: message.number,
        kind: message.kind,
        requestId: message.requestId,
        sentAt: clock.now(),
        carries,
        trace: null,
      },
      body,
    );
  }

  async #sendAgain(message: OutboxMessage, after: LinkPosition): Promise<void> {
    const pointer = await this.#blobs.pointerFor(message, after);
    await this.#side.transport.publish(this.#side.out, this.#envelope(message, Buffer.from(JSON.stringify(pointer)), "blob"));
    this.#side.statistics.sent += 1;
    this.#side.statistics.repeated += 1;
  }

  /** The store is not where the window thought: a new epoch, or receipts taken elsewhere. True when the window moved. */
  #realign(): boolean {
    const state = this.#side.ledger.state(this.#side.linkId);
    const start = beginning(state);
    const { epoch, receipted } = this.#window;
    if (start.epoch === epoch && start.number <= receipted.number) throw new Error("the outbox does not continue after the cursor");
    this.#window.restart(start);
    this.#blobs.renewed();
    this.#highest = start.number;
    return true;
  }

  #refused(error: unknown): void {
    const { statistics, clock, log, linkId } = this.#side;
    const failure = error instanceof PublishError ? error.failure : "failed";
    const message = error instanceof Error ? error.message : String(error);
    if (statistics.heldBack === null) log.info({ linkId, failure, error: message }, "the fabric takes nothing");
    statistics.heldBack = { failure, message, since: statistics.heldBack?.since ?? clock.now() };
    // One pause for all publishes that failed together.
    if (clock.now() >= this.#heldUntil) this.#hold(this.#backoff.next());
  }

  #hold(ms: number): void {
    this.#heldUntil = this.#side.clock.now() + ms;
    this.#pumpAlarm.set(this.#heldUntil);
  }

  #release(): void {
    this.#heldUntil = 0;
    this.#backoff.reset();
    this.#side.statistics.heldBack = null;
  }

  #settleIdle(): void {
    for (const wake of this.#idle.splice(0)) wake();
  }
}

/** Where sending starts: after what the peer is known to have of the present epoch. */
function beginning(state: LinkLedgerState): LinkPosition {
  return state.receipted.epoch === state.sent.epoch ? state.receipted : { epoch: state.sent.epoch, number: 0, digest: digestOrigin };
}
