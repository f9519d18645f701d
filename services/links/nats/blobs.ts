import { JetStreamApiCodes, JetStreamApiError } from "@nats-io/jetstream";
import { type ObjectStore, Objm, StorageType, setSha256Backend } from "@nats-io/obj";
import { nanos } from "@nats-io/transport-node";
import type { Clock } from "../../runtime/ports/clock.ts";
import { bucketOf } from "./names.ts";
import type { NatsSession } from "./session.ts";

const chunkBytes = 256 * 1024;
/** A get or put that moves nothing for so many seconds has failed. */
const stallTicks = 10;

export type BlobLimits = { bucketBytes: number; maxAgeMs: number };

/**
 * Blobs in an object store per link. Its age limit is what sweeps the leftovers of puts that were killed half way; a blob
 * that it takes too early is put again by its sender.
 */
export class NatsBlobs {
  readonly #clock: Clock;
  readonly #limits: BlobLimits;
  readonly #stores = new Map<string, { session: NatsSession; store: ObjectStore }>();

  constructor(clock: Clock, limits: BlobLimits) {
    this.#clock = clock;
    this.#limits = limits;
    setSha256Backend("native");
  }

  async put(session: NatsSession, linkId: string, name: string, bytes: Uint8Array): Promise<void> {
    const store = await this.#store(session, linkId);
    const watch = this.#watch();
    let at = 0;
    const slices = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          watch.moved();
          if (at >= bytes.length) return controller.close();
          controller.enqueue(bytes.subarray(at, at + chunkBytes));
          at += chunkBytes;
        },
      },
      { highWaterMark: 0 },
    );
    const putting = store.put({ name, options: { max_chunk_size: chunkBytes } }, slices, { timeout: 5_000 });
    try {
      await Promise.race([putting, watch.stalled]);
    } catch (error) {
      this.#stores.delete(linkId);
      putting.catch(() => {});
      throw error;
    } finally {
      watch.end();
    }
  }

  async get(session: NatsSession, linkId: string, name: string): Promise<Uint8Array | null> {
    const watch = this.#watch();
    try {
      const store = await this.#store(session, linkId);
      const result = await Promise.race([store.get(name), watch.stalled]);
      if (result === null) return null;
      result.error.catch(() => {});
      const reader = result.data.getReader();
      try {
        return await Promise.race([collect(reader, result.info.size, watch.moved), watch.stalled]);
      } finally {
        void reader.cancel().catch(() => {});
      }
    } catch (error) {
      if (!isMissing(error)) throw error;
      this.#stores.delete(linkId);
      return null;
    } finally {
      watch.end();
    }
  }

  async delete(session: NatsSession, linkId: string, name: string): Promise<void> {
    const store = await this.#store(session, linkId);
    try {
      await store.delete(name);
    } catch (error) {
      if (!isMissing(error)) throw error;
      this.#stores.delete(linkId);
    }
  }

  async #store(session: NatsSession, linkId: string): Promise<ObjectStore> {
    const known = this.#stores.get(linkId);
    if (known?.session === session) return known.store;
    const store = await new Objm(session.js).create(bucketOf(linkId), {
      storage: StorageType.File,
      max_bytes: this.#limits.bucketBytes,
      ttl: nanos(this.#limits.maxAgeMs),
    });
    this.#stores.set(linkId, { session, store });
    return store;
  }

  /** Ticks, instead of one timer: while this process itself stands still, hardly any time passes for it. */
  #watch(): { moved: () => void; stalled: Promise<never>; end: () => void } {
    const { promise, reject } = Promise.withResolvers<never>();
    promise.catch(() => {});
    let ticks = 0;
    let cancel = () => {};
    const tick = () => {
      ticks += 1;
      if (ticks > stallTicks) reject(new Error(`the object store moved nothing for ${stallTicks} s`));
      else cancel = this.#clock.after(1_000, tick);
    };
    cancel = this.#clock.after(1_000, tick);
    return {
      moved: () => {
        ticks = 0;
      },
      stalled: promise,
      end: () => cancel(),
    };
  }
}

async function collect(reader: ReadableStreamDefaultReader<Uint8Array>, size: number, moved: () => void): Promise<Uint8Array> {
  const all = Buffer.allocUnsafe(size);
  let at = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    moved();
    if (at + value.length > size) throw new Error("an object is longer than it says");
    all.set(value, at);
    at += value.length;
  }
  if (at !== size) throw new Error("an object is shorter than it says");
  return all;
}

/** The bucket or the object's data is gone. */
function isMissing(error: unknown): boolean {
  const missing: number[] = [JetStreamApiCodes.StreamNotFound, JetStreamApiCodes.NoMessageFound];
  return error instanceof JetStreamApiError && missing.includes(error.code);
}
