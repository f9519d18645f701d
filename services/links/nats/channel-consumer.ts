import {
  AckPolicy,
  type ConsumerInfo,
  type ConsumerMessages,
  DeliverPolicy,
  JetStreamApiCodes,
  JetStreamApiError,
  type JsMsg,
} from "@nats-io/jetstream";
import { nanos } from "@nats-io/transport-node";
import type { Clock } from "../../runtime/ports/clock.ts";
import { Backoff } from "../alarm.ts";
import type { ChannelStream } from "./channel-stream.ts";
import { durableName } from "./names.ts";
import type { NatsSession } from "./session.ts";

const batchMessages = 128;
const batchBytes = 8 * 1024 * 1024;
/** Unacknowledged messages that the server lets us have: with the largest inline message, what is held in memory at most. */
const pending = 256;

/** How soon, and how often, a purge that came before its acknowledgements is done again. */
const purgeAgainMs = 50;
const purgeTries = 20;

/** Delivered and not acknowledged for so long: the server gives it again. */
const ackWaitMs = 15_000;

/**
 * The receiving end of one link direction: a durable pull consumer that is set up anew in every session. What it has
 * handed to `handle` is acknowledged after that resolved, and purged from the stream now and then: a stream under limits
 * retention with a bound would fill up otherwise.
 */
export class ChannelConsumer {
  readonly stream: ChannelStream;
  readonly #handle: (batch: Uint8Array[]) => Promise<void>;
  readonly #clock: Clock;
  readonly #purgeBytes: number;
  #session: NatsSession | null = null;
  #messages: ConsumerMessages | null = null;
  #queue: JsMsg[] = [];
  #wake: () => void = () => {};
  #stopped = false;
  #acked = { messages: 0, bytes: 0 };
  #lastAcked = 0;
  readonly #worker: Promise<void>;

  constructor(stream: ChannelStream, handle: (batch: Uint8Array[]) => Promise<void>, clock: Clock, purgeBytes: number) {
    this.stream = stream;
    this.#handle = handle;
    this.#clock = clock;
    this.#purgeBytes = purgeBytes;
    this.#worker = this.#work();
  }

  /** Begins to consume in this session; tries until it works or the session ends. */
  attach(session: NatsSession): void {
    this.#session = session;
    void this.#attach(session);
  }

  /**
   * The session is over. The client would take its pull up again by itself after a reconnect, and the server would
   * deliver into it what the next session's pull should get.
   */
  detach(): void {
    this.#session = null;
    this.#queue = [];
    void this.#messages?.close();
    this.#messages = null;
  }

  /** Ends after the batch that is being handled. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#wake();
    const closed = this.#messages?.close();
    await this.#worker;
    // Whoever consumes next gets these at once instead of after the ack wait.
    for (const message of this.#queue.splice(0)) message.nak();
    await closed;
  }

  #current(session: NatsSession): boolean {
    return !this.#stopped && session.live && this.#session === session;
  }

  async #attach(session: NatsSession): Promise<void> {
    const pause = new Backoff(100, 5_000);
    while (this.#current(session)) {
      try {
        await this.stream.ready(session);
        const info = await this.#ensure(session);
        if (!this.#current(session)) return;
        void this.#messages?.close();
        const consumer = session.js.consumers.getConsumerFromInfo(info);
        // A short expiry makes for a short heartbeat: a stalled pull is noticed within seconds.
        const messages = await consumer.consume({
          max_messages: pending,
          expires: 4_000,
          callback: (message) => {
            this.#queue.push(message);
            this.#wake();
          },
        });
        this.#messages = messages;
        void this.#watch(session, messages);
        return;
      } catch {
        this.stream.doubt();
        await new Promise<void>((resolve) => this.#clock.after(pause.next(), resolve));
      }
    }
  }

  /** Sets up again when the server no longer has what is consumed. */
  async #watch(session: NatsSession, messages: ConsumerMessages): Promise<void> {
    const gone = new Set(["consumer_not_found", "stream_not_found", "consumer_deleted", "no_responders"]);
    for await (const status of messages.status()) {
      const lost = gone.has(status.type) || (status.type === "heartbeats_missed" && status.count >= 2);
      if (lost && this.#messages === messages) break;
    }
    if (!this.#current(session) || this.#messages !== messages) return;
    this.#messages = null;
    this.stream.doubt();
    await messages.close();
    await this.#attach(session);
  }

  async #ensure(session: NatsSession): Promise<ConsumerInfo> {
    const { consumers, streams } = session.jsm;
    const found = await consumers.info(this.stream.name, durableName).catch((error: unknown) => {
      if (error instanceof JetStreamApiError && error.code === JetStreamApiCodes.ConsumerNotFound) return null;
      throw error;
    });
    if (found === null) return this.#add(session, 1);
    const floor = found.ack_floor.stream_seq;
    if (found.delivered.stream_seq > this.stream.lastSeq) {
      // The stream lost its end and counts on from an earlier number, which this consumer takes for delivered.
      await consumers.delete(this.stream.name, durableName);
      return this.#add(session, 1);
    }
    if (floor > 0) await streams.purge(this.stream.name, { seq: floor + 1 });
    if (found.num_ack_pending === 0) return found;
    // Delivered into an earlier session or process, and not known to be done. A new consumer gives them now and in order,
    // the old one would only after the ack wait.
    await consumers.delete(this.stream.name, durableName);
    return this.#add(session, floor + 1);
  }

  #add(session: NatsSession, from: number): Promise<ConsumerInfo> {
    return session.jsm.consumers.add(this.stream.name, {
      durable_name: durableName,
      ack_policy: AckPolicy.Explicit,
      ack_wait: nanos(ackWaitMs),
      max_ack_pending: pending,
      max_deliver: -1,
      ...(from > 1 ? { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: from } : { deliver_policy: DeliverPolicy.All }),
    });
  }

  async #work(): Promise<void> {
    while (!this.#stopped) {
      if (this.#queue.length === 0) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        continue;
      }
      const batch = this.#next();
      try {
        await this.#handle(batch.map((message) => message.data));
      } catch {
        this.#queue.unshift(...batch);
        await new Promise<void>((resolve) => {
          this.#wake = () => this.#stopped && resolve();
          this.#clock.after(500, resolve);
        });
        for (const message of batch) message.working();
        continue;
      }
      for (const message of batch) {
        message.ack();
        this.#acked.messages += 1;
        this.#acked.bytes += message.data.length;
        this.#lastAcked = message.seq;
      }
      this.#purge();
    }
  }

  #next(): JsMsg[] {
    let bytes = 0;
    let count = 0;
    for (const message of this.#queue) {
      if (count >= batchMessages || (count > 0 && bytes >= batchBytes)) break;
      bytes += message.data.length;
      count += 1;
    }
    return this.#queue.splice(0, count);
  }

  #purge(): void {
    const session = this.#session;
    if (session === null || !session.live || (this.#acked.messages < 1_024 && this.#acked.bytes < this.#purgeBytes)) return;
    this.#acked = { messages: 0, bytes: 0 };
    void this.#purgeTo(session, this.#lastAcked);
  }

  /**
   * Purges what the server knows to be acknowledged, until that is all up to `seq`: it may hear of the last acknowledgements
   * after it is asked, and a channel that stays full gives nothing more to acknowledge.
   */
  async #purgeTo(session: NatsSession, seq: number): Promise<void> {
    for (let tries = 0; tries < purgeTries && this.#current(session); tries += 1) {
      try {
        const { ack_floor } = await session.jsm.consumers.info(this.stream.name, durableName);
        await session.jsm.streams.purge(this.stream.name, { seq: ack_floor.stream_seq + 1 });
        if (ack_floor.stream_seq >= seq) return;
      } catch {
        // The next one purges more.
        return;
      }
      await new Promise<void>((resolve) => this.#clock.after(purgeAgainMs, resolve));
    }
  }
}
