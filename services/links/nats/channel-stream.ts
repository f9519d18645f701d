import { DiscardPolicy, JetStreamApiCodes, JetStreamApiError, RetentionPolicy, StorageType, type StreamInfo } from "@nats-io/jetstream";
import type { LinkChannel } from "../../runtime/ports/link-transport.ts";
import { streamOf, subjectOf } from "./names.ts";
import type { NatsSession } from "./session.ts";

const nameInUse = 10058;

/**
 * The stream of one link direction: made when it is missing, and looked at again in every session. A stream that is
 * younger than it was, or that counts from lower numbers, has lost what was published on it.
 */
export class ChannelStream {
  readonly channel: LinkChannel;
  readonly name: string;
  readonly subject: string;
  readonly #limits: { maxBytes: number; replicas: number };
  readonly #renewed: () => void;
  readonly #pause: (ms: number) => Promise<void>;
  #known: { session: NatsSession; created: string; lastSeq: number } | null = null;
  #readyIn: NatsSession | null = null;
  #checking: { session: NatsSession; done: Promise<void> } | null = null;

  constructor(
    channel: LinkChannel,
    limits: { maxBytes: number; replicas: number },
    renewed: () => void,
    pause: (ms: number) => Promise<void>,
  ) {
    this.channel = channel;
    this.name = streamOf(channel);
    this.subject = subjectOf(channel);
    this.#limits = limits;
    this.#renewed = renewed;
    this.#pause = pause;
  }

  /** The highest sequence that is known of it. */
  get lastSeq(): number {
    return this.#known?.lastSeq ?? 0;
  }

  isReady(session: NatsSession): boolean {
    return this.#readyIn === session;
  }

  /** Resolves when the stream is there; rejects when the server does not give it. */
  ready(session: NatsSession): Promise<void> {
    if (this.isReady(session)) return Promise.resolve();
    if (this.#checking?.session === session) return this.#checking.done;
    const done = this.#check(session).finally(() => {
      if (this.#checking?.done === done) this.#checking = null;
    });
    this.#checking = { session, done };
    return done;
  }

  /** Something went wrong with the stream: it is looked at again before it is used. */
  doubt(): void {
    this.#readyIn = null;
  }

  /** The stream took a message under `seq`. */
  took(seq: number): void {
    if (this.#known === null) return;
    if (seq <= this.#known.lastSeq) this.doubt();
    else this.#known.lastSeq = seq;
  }

  async #check(session: NatsSession): Promise<void> {
    const before = this.#known;
    let info = await this.#find(session);
    if (info === null) {
      // A server that still tidies up after a deletion would tidy up the new stream's files as well.
      if (before?.session === session) await this.#pause(500);
      info = await this.#make(session);
    }
    const { created, state } = info;
    this.#known = { session, created, lastSeq: state.last_seq };
    if (session.live) this.#readyIn = session;
    if (before !== null && (before.created !== created || state.last_seq < before.lastSeq)) this.#renewed();
  }

  async #find(session: NatsSession): Promise<StreamInfo | null> {
    try {
      const info = await session.jsm.streams.info(this.name);
      // Its operator may have chosen other bounds; what it carries must be this direction, and acks must not empty it.
      const { subjects, retention } = info.config;
      if (!subjects?.includes(this.subject) || retention !== RetentionPolicy.Limits) {
        throw new Error(`the stream ${this.name} is there, but does not carry ${this.subject} under limits retention`);
      }
      return info;
    } catch (error) {
      if (error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound) return null;
      throw error;
    }
  }

  async #make(session: NatsSession): Promise<StreamInfo> {
    const wanted = {
      name: this.name,
      subjects: [this.subject],
      retention: RetentionPolicy.Limits,
      storage: StorageType.File,
      discard: DiscardPolicy.New,
      max_bytes: this.#limits.maxBytes,
      num_replicas: this.#limits.replicas,
    };
    try {
      const info = await session.jsm.streams.add(wanted);
      // A server drops what it does not know without a word.
      const given = info.config as Record<string, unknown>;
      const dropped = Object.entries(wanted).filter(([key, value]) => JSON.stringify(given[key]) !== JSON.stringify(value));
      if (dropped.length > 0) throw new Error(`the server made ${this.name} without ${dropped.map(([key]) => key).join(", ")}`);
      return info;
    } catch (error) {
      // The peer was faster.
      if (error instanceof JetStreamApiError && error.code === nameInUse) {
        const found = await this.#find(session);
        if (found !== null) return found;
      }
      throw error;
    }
  }
}
