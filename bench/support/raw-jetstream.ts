import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";

/** Bare JetStream with the same payload: `count` messages published, no more than 128 unacknowledged, and consumed with acks. */
export async function rawThroughput(url: string, count: number, bytes: number): Promise<number> {
  const [publisher, reader] = [await connect({ servers: url }), await connect({ servers: url })];
  try {
    const manager = await jetstreamManager(publisher);
    const name = `raw${Date.now()}${Math.floor(Math.random() * 1e6)}`;
    await manager.streams.add({ name, subjects: [name] });
    await manager.consumers.add(name, { durable_name: "reader", ack_policy: "explicit", max_ack_pending: 10_000 });
    const [out, consumer] = [jetstream(publisher), await jetstream(reader).consumers.get(name, "reader")];
    const payload = new Uint8Array(bytes).fill(120);
    const began = performance.now();
    const consumed = (async () => {
      let seen = 0;
      for await (const message of await consumer.consume({ max_messages: 1_000 })) {
        message.ack();
        seen += 1;
        if (seen === count) return;
      }
    })();
    const publish = async (share: number) => {
      for (let i = 0; i < share; i += 1) await out.publish(name, payload);
    };
    await Promise.all([consumed, ...Array.from({ length: 128 }, (_, i) => publish(Math.floor((count + i) / 128)))]);
    const took = performance.now() - began;
    await manager.streams.delete(name);
    return took;
  } finally {
    await Promise.all([publisher.close(), reader.close()]);
  }
}

/** One publish after the other, each awaited until it is acknowledged. Milliseconds of each. */
export async function rawLatencies(url: string, count: number, bytes: number): Promise<number[]> {
  const connection = await connect({ servers: url });
  try {
    const manager = await jetstreamManager(connection);
    await manager.streams.add({ name: "latency", subjects: ["latency"] });
    const payload = new Uint8Array(bytes).fill(120);
    const out = jetstream(connection);
    const times: number[] = [];
    for (let i = 0; i < count; i += 1) {
      const began = performance.now();
      await out.publish("latency", payload);
      times.push(performance.now() - began);
    }
    await manager.streams.delete("latency");
    return times;
  } finally {
    await connection.close();
  }
}
