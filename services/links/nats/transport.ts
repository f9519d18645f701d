import { readFile } from "node:fs/promises";
import { JetStreamApiCodes, JetStreamApiError, jetstream, jetstreamManager } from "@nats-io/jetstream";
import { type ConnectionOptions, connect, credsAuthenticator, type NatsConnection } from "@nats-io/transport-node";
import type { Clock } from "../../runtime/ports/clock.ts";
import { type LinkChannel, type LinkTransport, PublishError, type TransportEvents } from "../../runtime/ports/link-transport.ts";
import { systemClock } from "../../runtime/system-clock.ts";
import { Backoff } from "../alarm.ts";
import { type LinkLog, silentLog } from "../link-side.ts";
import { NatsBlobs } from "./blobs.ts";
import { ChannelConsumer } from "./channel-consumer.ts";
import { ChannelStream } from "./channel-stream.ts";
import { streamOf, subjectOf } from "./names.ts";
import { isUnheard, messageOf, toPublishError } from "./publish-errors.ts";
import { sayVersion } from "./server-version.ts";
import type { NatsSession } from "./session.ts";

export type NatsTransportOptions = {
  /** One server, or several of a cluster, separated by commas. `tls://` insists on TLS. */
  url: string;
  credentialsFile?: string;
  /** How the server names this client. */
  name: string;
  clock?: Clock;
  log?: LinkLog;
  /** Bound of each direction's stream. A full one holds back its sender. Bytes; default 64 MiB. */
  streamBytes?: number;
  /** Copies of streams within a cluster; default 1. */
  replicas?: number;
  /** Bound of a link's object store; default 512 MiB. */
  bucketBytes?: number;
};

/** How long a publish waits for the server's word. It may be stored all the same: a time-out is no refusal. */
const publishTimeoutMs = 1_500;
const requestTimeoutMs = 2_000;

/** Links over NATS JetStream: a stream per direction, a durable pull consumer, an object store per link. */
export function createNatsTransport(options: NatsTransportOptions): LinkTransport {
  return new NatsTransport(options);
}

class NatsTransport implements LinkTransport {
  readonly #options: NatsTransportOptions;
  readonly #clock: Clock;
  readonly #log: LinkLog;
  readonly #blobs: NatsBlobs;
  readonly #streams = new Map<string, ChannelStream>();
  readonly #consumers = new Set<ChannelConsumer>();
  readonly #publishing = new Set<(error: PublishError) => void>();
  readonly #closing = Promise.withResolvers<void>();
  #events: TransportEvents | null = null;
  #nc: NatsConnection | null = null;
  #session: NatsSession | null = null;
  #out = false;
  #lostAt = 0;
  #closed = false;
  #idle: (() => void)[] = [];

  constructor(options: NatsTransportOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#log = options.log ?? silentLog;
    this.#blobs = new NatsBlobs(this.#clock, { bucketBytes: options.bucketBytes ?? 512 * 1024 * 1024, maxAgeMs: 3 * 24 * 3_600_000 });
  }

  start(events: TransportEvents): void {
    if (this.#events !== null || this.#closed) throw new Error("a transport starts once");
    this.#events = events;
    events.onState({ state: "connecting" });
    void this.#run();
  }

  async publish(channel: LinkChannel, payload: Uint8Array): Promise<void> {
    const session = this.#session;
    // A disconnected client neither buffers nor refuses: the publish would only fail at its time-out.
    if (session === null) throw new PublishError("disconnected", "not connected to the NATS server");
    const stream = this.#stream(channel);
    try {
      if (!stream.isReady(session)) await stream.ready(session);
      stream.took(await this.#send(session, stream, payload));
    } catch (error) {
      const failure = toPublishError(error);
      if (failure.failure !== "full") stream.doubt();
      throw failure;
    }
  }

  /** The sequence under which the stream took it. */
  async #send(session: NatsSession, stream: ChannelStream, payload: Uint8Array): Promise<number> {
    const once = () => this.#untilLost(session.js.publish(stream.subject, payload, { timeout: publishTimeoutMs }));
    try {
      return (await once()).seq;
    } catch (error) {
      if (!isUnheard(error)) throw error;
      // A stream that was made just now may not be listening yet; one that is gone is made again.
      stream.doubt();
      await this.#pause(50);
      await stream.ready(session);
      return (await once()).seq;
    }
  }

  async consume(channel: LinkChannel, handle: (batch: Uint8Array[]) => Promise<void>): Promise<() => Promise<void>> {
    const purgeBytes = Math.min(8 * 1024 * 1024, this.#streamBytes / 4);
    const consumer = new ChannelConsumer(this.#stream(channel), handle, this.#clock, purgeBytes);
    this.#consumers.add(consumer);
    if (this.#session !== null) consumer.attach(this.#session);
    return async () => {
      if (!this.#consumers.delete(consumer)) return;
      await consumer.stop();
    };
  }

  async putBlob(linkId: string, name: string, bytes: Uint8Array): Promise<void> {
    const session = this.#connected();
    try {
      await this.#untilLost(this.#blobs.put(session, linkId, name, bytes));
    } catch (error) {
      throw toPublishError(error);
    }
  }

  async getBlob(linkId: string, name: string): Promise<Uint8Array | null> {
    return await this.#untilLost(this.#blobs.get(this.#connected(), linkId, name));
  }

  async deleteBlob(linkId: string, name: string): Promise<void> {
    await this.#untilLost(this.#blobs.delete(this.#connected(), linkId, name));
  }

  async forget(channel: LinkChannel): Promise<void> {
    const session = this.#connected();
    this.#streams.delete(subjectOf(channel));
    try {
      await this.#untilLost(session.jsm.streams.delete(streamOf(channel)));
    } catch (error) {
      if (error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound) return;
      throw error;
    }
  }

  /** Consumers first, then what is being published, then the connection: what was accepted is acknowledged. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#closing.resolve();
    await Promise.all([...this.#consumers].map((consumer) => consumer.stop()));
    this.#consumers.clear();
    if (this.#publishing.size > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
    const nc = this.#nc;
    if (nc === null) return;
    const flushed = this.#session === null ? Promise.resolve() : nc.drain();
    await Promise.race([flushed.catch(() => {}), this.#pause(2_000)]);
    await nc.close();
    this.#end("closed");
  }

  get #streamBytes(): number {
    return this.#options.streamBytes ?? 64 * 1024 * 1024;
  }

  #connected(): NatsSession {
    if (this.#session === null) throw new PublishError("disconnected", "not connected to the NATS server");
    return this.#session;
  }

  #stream(channel: LinkChannel): ChannelStream {
    const subject = subjectOf(channel);
    let stream = this.#streams.get(subject);
    if (stream === undefined) {
      const limits = { maxBytes: this.#streamBytes, replicas: this.#options.replicas ?? 1 };
      const renewed = () => {
        this.#log.info({ ...channel }, "a stream was lost and made again");
        this.#events?.onRenewed(channel);
      };
      stream = new ChannelStream(channel, limits, renewed, (ms) => this.#pause(ms));
      this.#streams.set(subject, stream);
    }
    return stream;
  }

  /** Connects, and connects again, until `close`. */
  async #run(): Promise<void> {
    const pause = new Backoff(200, 2_000);
    while (!this.#closed) {
      try {
        const nc = await connect(await this.#connectionOptions());
        if (this.#closed) return void (await nc.close());
        pause.reset();
        this.#nc = nc;
        this.#begin(nc);
        await this.#follow(nc);
        // Even an endless client closes for good, for example when its credentials are taken away.
        const reason = await nc.closed();
        this.#lost(reason instanceof Error ? reason.message : "the connection was closed");
      } catch (error) {
        this.#lost(messageOf(error));
      }
      this.#nc = null;
      await Promise.race([this.#pause(pause.next()), this.#closing.promise]);
    }
  }

  async #follow(nc: NatsConnection): Promise<void> {
    for await (const status of nc.status()) {
      if (status.type === "disconnect") this.#lost(`disconnected from ${status.server}`);
      if (status.type === "reconnect") this.#begin(nc);
    }
  }

  async #connectionOptions(): Promise<ConnectionOptions> {
    const { url, credentialsFile, name } = this.#options;
    return {
      servers: url.split(",").map((server) => server.trim()),
      name,
      // The client would take a stack trace for every request, in case it fails.
      noAsyncTraces: true,
      maxReconnectAttempts: -1,
      reconnectDelayHandler: () => this.#reconnectDelay(),
      pingInterval: 5_000,
      maxPingOut: 2,
      timeout: 5_000,
      ...(url.startsWith("tls://") ? { tls: {} } : {}),
      ...(credentialsFile === undefined ? {} : { authenticator: credsAuthenticator(await readFile(credentialsFile)) }),
    };
  }

  /** Grows with the outage. The client asks more than once per try, so a count of calls would say nothing. */
  #reconnectDelay(): number {
    // The client asks before it has told us that it is out.
    const outage = this.#out ? this.#clock.now() - this.#lostAt : 0;
    return Math.min(5_000, 100 + outage / 20) * (0.75 + Math.random() / 2);
  }

  #begin(nc: NatsConnection): void {
    this.#end("the connection was made again");
    void this.#open(nc);
  }

  async #open(nc: NatsConnection): Promise<void> {
    const jsm = await jetstreamManager(nc, { timeout: requestTimeoutMs, checkAPI: false });
    if (this.#closed || nc.isClosed()) return;
    const session: NatsSession = { nc, js: jetstream(nc, { timeout: requestTimeoutMs }), jsm, live: true };
    this.#session = session;
    sayVersion(nc.info?.version, this.#log);
    // Each by itself: one that the server does not give holds back nobody else.
    for (const stream of this.#streams.values())
      stream
        .ready(session)
        .catch((error: unknown) => this.#log.debug({ stream: stream.name, error: messageOf(error) }, "stream not ready"));
    for (const consumer of this.#consumers) consumer.attach(session);
    this.#out = false;
    this.#events?.onState({ state: "connected" });
  }

  #lost(error: string): void {
    this.#end(error);
    if (this.#out || this.#closed) return;
    this.#out = true;
    this.#lostAt = this.#clock.now();
    this.#log.info({ error }, "the NATS server is out of reach");
    this.#events?.onState({ state: "lost", error });
  }

  #end(error: string): void {
    if (this.#session !== null) this.#session.live = false;
    this.#session = null;
    for (const consumer of this.#consumers) consumer.detach();
    for (const reject of this.#publishing) reject(new PublishError("disconnected", error));
  }

  /** A request that is under way at a disconnect would wait out its time; it ends here instead. */
  async #untilLost<T>(request: Promise<T>): Promise<T> {
    const { promise, reject } = Promise.withResolvers<never>();
    this.#publishing.add(reject);
    request.catch(() => {});
    try {
      return await Promise.race([request, promise]);
    } finally {
      this.#publishing.delete(reject);
      if (this.#publishing.size === 0) for (const wake of this.#idle.splice(0)) wake();
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#clock.after(ms, resolve));
  }
}
