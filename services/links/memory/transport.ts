import type { Clock } from "../../runtime/ports/clock.ts";
import { type LinkChannel, type LinkTransport, PublishError, type TransportEvents } from "../../runtime/ports/link-transport.ts";

/** What becomes of one published message. `late`: behind some that follow it. `refused_and_kept`: the sender is told that it failed. */
export type Disturbance = "keep" | "drop" | "twice" | "late" | "refuse" | "refused_and_kept";

export type MemoryFabricOptions = {
  clock: Clock;
  /** Asked for every message; without: all are kept. */
  disturb?: (channel: LinkChannel) => Disturbance;
  channelBytes?: number;
  batchMessages?: number;
  /** How long a `late` message stays behind at most, and a rejected batch waits. Milliseconds. */
  delayMs?: number;
};

/** A fabric within one process, for tests and simulation: the twin of a NATS server. */
export interface MemoryFabric {
  transport(name: string): LinkTransport;
  /** Loses everything it has. `announce`: as a fabric that notices; otherwise nobody is told. */
  wipe(announce: boolean): void;
  /** Takes the connection of one transport away, and gives it back. */
  cut(name: string): void;
  restore(name: string): void;
}

type Stored = { payload: Uint8Array };
type Queue = { channel: LinkChannel; messages: Stored[]; late: Stored[]; overtakenBy: number; bytes: number; wake: (() => void) | null };

const keyOf = (channel: LinkChannel) => JSON.stringify([channel.linkId, channel.to, channel.from]);

export function createMemoryFabric(options: MemoryFabricOptions): MemoryFabric {
  const { clock, disturb, channelBytes = 64 * 1024 * 1024, delayMs = 50 } = options;
  const queues = new Map<string, Queue>();
  const blobs = new Map<string, Uint8Array>();
  const transports = new Map<string, { events: TransportEvents | null; cut: boolean; closed: boolean }>();
  const wakes = new Set<() => void>();

  function queueOf(channel: LinkChannel): Queue {
    const key = keyOf(channel);
    let queue = queues.get(key);
    if (queue === undefined) {
      queue = { channel, messages: [], late: [], overtakenBy: 0, bytes: 0, wake: null };
      queues.set(key, queue);
    }
    return queue;
  }

  function store(queue: Queue, payload: Uint8Array, how: Disturbance): void {
    const copies = how === "twice" ? 2 : 1;
    for (let copy = 0; copy < copies; copy += 1) {
      const stored = { payload: payload.slice() };
      queue.bytes += payload.length;
      if (how === "late") {
        queue.late.push(stored);
        clock.after(delayMs, () => overtaken(queue));
      } else {
        queue.messages.push(stored);
      }
    }
    if (how !== "late" && queue.late.length > 0) {
      queue.overtakenBy += 1;
      if (queue.overtakenBy === 2) overtaken(queue);
    }
    queue.wake?.();
  }

  function overtaken(queue: Queue): void {
    queue.messages.push(...queue.late.splice(0));
    queue.overtakenBy = 0;
    queue.wake?.();
  }

  function remove(queue: Queue, batch: Stored[]): void {
    const gone = new Set(batch);
    for (const message of queue.messages) if (gone.has(message)) queue.bytes -= message.payload.length;
    queue.messages = queue.messages.filter((message) => !gone.has(message));
  }

  function transport(name: string): LinkTransport {
    const self = { events: null as TransportEvents | null, cut: transports.get(name)?.cut ?? false, closed: false };
    transports.set(name, self);
    const connected = () => !self.cut && !self.closed;

    async function deliver(queue: Queue, handle: (batch: Uint8Array[]) => Promise<void>, stopped: () => boolean): Promise<void> {
      while (!stopped()) {
        if (queue.messages.length === 0 || !connected()) {
          const waiting = Promise.withResolvers<void>();
          queue.wake = waiting.resolve;
          wakes.add(waiting.resolve);
          await waiting.promise;
          wakes.delete(waiting.resolve);
          continue;
        }
        const batch = queue.messages.slice(0, options.batchMessages ?? 128);
        try {
          await handle(batch.map((message) => message.payload));
          remove(queue, batch);
        } catch {
          await new Promise<void>((resolve) => clock.after(delayMs, resolve));
        }
      }
    }

    return {
      start(events) {
        self.events = events;
        events.onState({ state: "connecting" });
        if (connected()) queueMicrotask(() => connected() && events.onState({ state: "connected" }));
      },
      async publish(channel, payload) {
        if (!connected()) throw new PublishError("disconnected", "the memory fabric is cut off");
        const how = disturb?.(channel) ?? "keep";
        const queue = queueOf(channel);
        if (how === "refuse") throw new PublishError("failed", "refused by the test");
        if (queue.bytes + payload.length > channelBytes) throw new PublishError("full", "the channel is full");
        if (how !== "drop") store(queue, payload, how);
        if (how === "refused_and_kept") throw new PublishError("timeout", "taken, and refused by the test");
      },
      async consume(channel, handle) {
        const queue = queueOf(channel);
        let stopped = false;
        const running = deliver(queue, handle, () => stopped || self.closed);
        return async () => {
          stopped = true;
          wakeAll();
          await running;
        };
      },
      async putBlob(linkId, blob, bytes) {
        if (!connected()) throw new PublishError("disconnected", "the memory fabric is cut off");
        blobs.set(`${linkId} ${blob}`, bytes.slice());
      },
      async getBlob(linkId, blob) {
        if (!connected()) throw new PublishError("disconnected", "the memory fabric is cut off");
        return blobs.get(`${linkId} ${blob}`)?.slice() ?? null;
      },
      async deleteBlob(linkId, blob) {
        if (!connected()) throw new PublishError("disconnected", "the memory fabric is cut off");
        blobs.delete(`${linkId} ${blob}`);
      },
      async forget(channel) {
        if (!connected()) throw new PublishError("disconnected", "the memory fabric is cut off");
        const queue = queueOf(channel);
        Object.assign(queue, { messages: [], late: [], bytes: 0 });
      },
      async close() {
        self.closed = true;
        wakeAll();
      },
    };
  }

  function wakeAll(): void {
    for (const wake of wakes) wake();
    wakes.clear();
  }

  return {
    transport,
    wipe(announce) {
      for (const queue of queues.values()) {
        queue.messages = [];
        queue.late = [];
        queue.bytes = 0;
      }
      blobs.clear();
      if (!announce) return;
      for (const { events, cut, closed } of transports.values()) {
        if (events === null || cut || closed) continue;
        for (const queue of queues.values()) events.onRenewed(queue.channel);
      }
    },
    cut(name) {
      const self = transports.get(name);
      if (self === undefined || self.cut) return;
      self.cut = true;
      self.events?.onState({ state: "lost", error: "cut off" });
    },
    restore(name) {
      const self = transports.get(name);
      if (self === undefined || !self.cut) return;
      self.cut = false;
      self.events?.onState({ state: "connecting" });
      self.events?.onState({ state: "connected" });
      wakeAll();
    },
  };
}
