import type { LinkPosition } from "../../schemas/link.ts";
import type { LinkLedgerState, OutboxMessage } from "../runtime/ports/link-ledger.ts";
import { digestOrigin } from "../runtime/ports/link-ledger.ts";
import { PublishError } from "../runtime/ports/link-transport.ts";
import { Alarm, Backoff } from "./alarm.ts";
import type { OutgoingEnvelope } from "./envelope.ts";
import type { LinkSide } from "./link-side.ts";
import { OutboundWindow } from "./outbound-window.ts";
import { OutgoingBlobs } from "./outgoing-blobs.ts";

/** About what a head takes in a sealing, for the window's count of bytes. */
const headAllowance = 600;

type Ready = { message: OutboxMessage; envelope: OutgoingEnvelope };

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

  /** One read of the outbox, which makes one publish or a few; false when there is nothing to do for now. */
  async #handSome(): Promise<boolean> {
    const { ledger, linkId, options } = this.#side;
    const window = this.#window;
    const room = window.room();
    if (room.messages === 0 || room.bytes === 0) return false;
    const limit = { messages: Math.min(room.messages, options.frameMessages), bytes: Math.min(room.bytes, options.frameBytes) };
    const batch = ledger.outbox(linkId, window.cursor, limit);
    if (batch.length === 0) return false;
    const pass = window.pass;
    let together: Ready[] = [];
    for (const message of batch) {
      if (message.epoch !== window.epoch || message.number !== window.cursor.number + together.length + 1) return this.#realign();
      let envelope = this.#envelope(message, together.at(-1)?.message ?? window.cursor);
      if (envelope instanceof Promise) {
        // A blob is put before anything that follows it is sent; what precedes it need not wait.
        this.#publish(together, pass);
        together = [];
        try {
          envelope = await envelope;
        } catch (error) {
          this.#refused(error);
          return false;
        }
        if (pass !== window.pass || !this.#open) return true;
      }
      together.push({ message, envelope });
    }
    this.#publish(together, pass);
    return true;
  }

  /** One publish; nothing when there is nothing. */
  #publish(together: readonly Ready[], pass: number): void {
    const { transport, out, seal, statistics } = this.#side;
    const [first, last] = [together[0]?.message, together.at(-1)?.message];
    if (first === undefined || last === undefined) return;
    const sealed = seal.seal(together.map(({ envelope }) => envelope));
    for (const { message, envelope } of together) {
      const { epoch, number, digest } = message;
      this.#window.hand({ epoch, number, digest }, headAllowance + envelope.body.length);
      statistics.sent += 1;
      if (number <= this.#highest) statistics.repeated += 1;
    }
    this.#highest = Math.max(this.#highest, last.number);
    this.#inFlight += 1;
    transport
      .publish(out, sealed)
      .then(
        () => {
          this.#window.taken(first.number, last.number, pass);
          this.#release();
        },
        (error: unknown) => {
          this.#window.failed(first.number, pass);
          this.#refused(error);
        },
      )
      .finally(() => {
        this.#inFlight -= 1;
        this.pump();
        this.#settleIdle();
      });
  }

  /** A message ready to be sealed: its body, or, once that is put as a blob, the pointer to it. */
  #envelope(message: OutboxMessage, after: LinkPosition): OutgoingEnvelope | Promise<OutgoingEnvelope> {
    const { incarnation, clock, options } = this.#side;
    const { commit, epoch, number, kind, requestId, body } = message;
    const head = { incarnation, commit, epoch, number, kind, requestId, sentAt: clock.now(), trace: null };
    // UTF-8 takes at most three bytes for each unit of a string, so that most bodies need not be measured.
    const large = body.length * 3 > options.inlineBytes && Buffer.byteLength(body) > options.inlineBytes;
    if (!large) return { head: { ...head, carries: "body" }, body: Buffer.from(body) };
    return this.#blobs
      .pointerFor(message, after)
      .then((pointer) => ({ head: { ...head, carries: "blob" as const }, body: Buffer.from(JSON.stringify(pointer)) }));
  }

  async #sendAgain(message: OutboxMessage, after: LinkPosition): Promise<void> {
    const { transport, out, seal, statistics } = this.#side;
    await transport.publish(out, seal.seal([await this.#envelope(message, after)]));
    statistics.sent += 1;
    statistics.repeated += 1;
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
