import { randomBytes, randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { LinkChannel, LinkTransport, TransportState } from "../../../services/runtime/ports/link-transport.ts";
import { type Fabric, memory, nats } from "../../support/link-fabrics.ts";
import { until } from "../../support/until.ts";

describe.each([
  ["memory", memory],
  ["NATS", nats],
])("a link transport over %s", (_name, make) => {
  let fabric: Fabric;
  const open: LinkTransport[] = [];
  beforeAll(async () => {
    fabric = await make();
  });
  afterEach(async () => {
    await Promise.all(open.splice(0).map((transport) => transport.close()));
  });
  afterAll(() => fabric.end());

  function channel(): LinkChannel {
    return { linkId: `link:${randomUUID()}`, to: `env:${randomUUID()}`, from: `env:${randomUUID()}` };
  }

  async function connected(name: string, options?: { channelBytes: number }) {
    const transport = fabric.transport(name, options);
    open.push(transport);
    const states: TransportState[] = [];
    const renewed: LinkChannel[] = [];
    transport.start({ onState: (state) => states.push(state), onRenewed: (which) => renewed.push(which) });
    await until("it is connected", () => states.at(-1)?.state === "connected");
    return { transport, states, renewed };
  }

  const text = (batch: Uint8Array[]) => batch.map((bytes) => Buffer.from(bytes).toString());

  async function collect(transport: LinkTransport, from: LinkChannel) {
    const got: string[] = [];
    const stop = await transport.consume(from, async (batch) => void got.push(...text(batch)));
    return { got, stop };
  }

  async function publish(transport: LinkTransport, to: LinkChannel, names: string[]): Promise<void> {
    await Promise.all(names.map((name) => transport.publish(to, Buffer.from(name))));
  }

  const names = (prefix: string, count: number) => Array.from({ length: count }, (_, i) => `${prefix}${i}`);

  test("delivers everything of a channel in the order of the calls, and nothing of another", async () => {
    const [here, there] = [channel(), channel()];
    const { transport: sender } = await connected("sender");
    const { transport: receiver } = await connected("receiver");
    await publish(sender, here, names("before", 3));
    const mine = await collect(receiver, here);
    const other = await collect(receiver, there);
    await publish(sender, here, names("after", 300));
    await publish(sender, there, ["elsewhere"]);
    await until("all is there", () => mine.got.length === 303 && other.got.length === 1);
    expect(mine.got).toEqual([...names("before", 3), ...names("after", 300)]);
    expect(other.got).toEqual(["elsewhere"]);
  });

  test("a channel that is forgotten is gone with what was on it; to forget it again changes nothing", async () => {
    const [here, there] = [channel(), channel()];
    const { transport: sender } = await connected("sender");
    await publish(sender, here, ["left"]);
    await publish(sender, there, ["kept"]);
    await sender.forget(here);
    await sender.forget(here);
    const { transport: receiver } = await connected("receiver");
    const other = await collect(receiver, there);
    await until("the other one is there", () => other.got.length === 1);
    // A broker may still tidy up after a deletion; a name that is used again at once would be tidied up as well.
    await new Promise((resolve) => setTimeout(resolve, 100));
    const gone = await collect(receiver, here);
    await publish(sender, here, ["new"]);
    await until("what came after it is there", () => gone.got.length === 1);
    expect(gone.got).toEqual(["new"]);
  });

  test("hands over the next batch only after the one before is done", async () => {
    const here = channel();
    const { transport } = await connected("one");
    let running = 0;
    let most = 0;
    let got = 0;
    await transport.consume(here, async (batch) => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setTimeout(resolve, 5));
      running -= 1;
      got += batch.length;
    });
    await publish(transport, here, names("m", 40));
    await until("all is there", () => got === 40);
    expect(most).toBe(1);
  });

  test("delivers again, and before what follows, what the handler rejected", async () => {
    const here = channel();
    const { transport } = await connected("one");
    const seen: string[][] = [];
    let fail = true;
    await transport.consume(here, async (batch) => {
      seen.push(text(batch));
      if (fail) {
        fail = false;
        throw new Error("not now");
      }
    });
    await publish(transport, here, ["first"]);
    await until("it was tried", () => seen.length === 1);
    await publish(transport, here, ["second"]);
    await until("both are there", () => seen.slice(1).flat().length >= 2);
    expect(seen[0]).toEqual(["first"]);
    expect(seen.slice(1).flat()).toEqual(["first", "second"]);
  });

  test("keeps for a consumer that sleeps what is published meanwhile", async () => {
    const here = channel();
    const { transport: sender } = await connected("sender");
    const first = await connected("receiver");
    const before = await collect(first.transport, here);
    await publish(sender, here, names("awake", 5));
    await until("the first part is there", () => before.got.length === 5);
    await before.stop();
    await first.transport.close();
    await publish(sender, here, names("asleep", 50));
    const second = await connected("receiver");
    const after = await collect(second.transport, here);
    await until("the rest is there", () => after.got.length >= 50);
    expect(after.got).toEqual(names("asleep", 50));
  });

  test("gives what was handed over and not finished to the next consumer at once", async () => {
    const here = channel();
    const { transport: sender } = await connected("sender");
    const first = await connected("receiver");
    let tries = 0;
    const stop = await first.transport.consume(here, async () => {
      tries += 1;
      throw new Error("never here");
    });
    await publish(sender, here, names("m", 5));
    await until("it was tried", () => tries > 0);
    await stop();
    await first.transport.close();
    const second = await connected("receiver");
    const after = await collect(second.transport, here);
    await until("all is there", () => after.got.length >= 5, 5_000);
    expect(after.got).toEqual(names("m", 5));
  });

  test("refuses to publish while it is cut off, and works again when the fabric is back, with what it had", async () => {
    const here = channel();
    const { transport, states, renewed } = await connected("one");
    const { got } = await collect(transport, here);
    await publish(transport, here, names("before", 20));
    await until("the first part is there", () => got.length === 20);
    await fabric.down();
    await until("it is noticed", () => states.at(-1)?.state === "lost");
    await expect(transport.publish(here, Buffer.from("meanwhile"))).rejects.toMatchObject({ failure: "disconnected" });
    await fabric.up();
    await until("it is connected", () => states.at(-1)?.state === "connected");
    await publish(transport, here, names("after", 20));
    await until("the rest is there", () => got.includes("after19"));
    expect(got.filter((name) => !name.startsWith("before"))).toEqual(names("after", 20));
    expect(renewed).toEqual([]);
  });

  test("says that a channel was lost when the fabric comes back without it, and works again", async () => {
    const here = channel();
    const { transport, states, renewed } = await connected("one");
    const { got } = await collect(transport, here);
    await publish(transport, here, names("before", 20));
    await until("the first part is there", () => got.length === 20);
    await fabric.down();
    await fabric.up(true);
    await until("it is connected", () => states.at(-1)?.state === "connected");
    await until("the loss is noticed", () => renewed.some(({ linkId }) => linkId === here.linkId));
    expect(renewed).toContainEqual(here);
    await publish(transport, here, names("after", 20));
    await until("the rest is there", () => got.includes("after19"));
    expect(got.slice(-20)).toEqual(names("after", 20));
  });

  test("a full channel holds back its own sender only, until it is read", async () => {
    const [full, free] = [channel(), channel()];
    const { transport } = await connected("one", { channelBytes: 64 * 1024 });
    const eightKiB = randomBytes(8 * 1024);
    let failure: unknown = null;
    for (let i = 0; i < 20 && failure === null; i += 1) {
      await transport.publish(full, eightKiB).catch((error: unknown) => {
        failure = error;
      });
    }
    expect(failure).toMatchObject({ failure: "full" });
    const other = await collect(transport, free);
    await publish(transport, free, ["passes"]);
    await until("the other channel works", () => other.got.length === 1);
    let read = 0;
    await transport.consume(full, async (batch) => {
      read += batch.length;
    });
    await until("it was read", () => read >= 6);
    let passed = false;
    await until("there is room again", () => {
      void transport.publish(full, eightKiB).then(
        () => {
          passed = true;
        },
        () => {},
      );
      return passed;
    });
  });

  test("keeps blobs by name until they are deleted", async () => {
    const { linkId } = channel();
    const { transport } = await connected("one");
    const [first, second] = [randomBytes(5 * 1024 * 1024 + 17), randomBytes(300_000)];
    expect(await transport.getBlob(linkId, "env:x/1/1")).toBe(null);
    await transport.putBlob(linkId, "env:x/1/1", first);
    expect(Buffer.compare(Buffer.from((await transport.getBlob(linkId, "env:x/1/1")) ?? []), first)).toBe(0);
    await transport.putBlob(linkId, "env:x/1/1", second);
    await transport.putBlob(linkId, "env:x/1/2", Buffer.from("small"));
    expect(Buffer.compare(Buffer.from((await transport.getBlob(linkId, "env:x/1/1")) ?? []), second)).toBe(0);
    await transport.deleteBlob(linkId, "env:x/1/1");
    await transport.deleteBlob(linkId, "env:x/1/none");
    expect(await transport.getBlob(linkId, "env:x/1/1")).toBe(null);
    expect(Buffer.from((await transport.getBlob(linkId, "env:x/1/2")) ?? []).toString()).toBe("small");
  });

  test("has no blob any more, and says so, after the fabric lost everything", async () => {
    const { linkId } = channel();
    const { transport, states } = await connected("one");
    await transport.putBlob(linkId, "b", randomBytes(1_000));
    await fabric.down();
    await fabric.up(true);
    await until("it is connected", () => states.at(-1)?.state === "connected");
    expect(await transport.getBlob(linkId, "b")).toBe(null);
    await transport.putBlob(linkId, "b", Buffer.from("again"));
    expect(Buffer.from((await transport.getBlob(linkId, "b")) ?? []).toString()).toBe("again");
  });

  test("starts without a fabric to reach, and connects when there is one", async () => {
    await fabric.down();
    const transport = fabric.transport("early");
    open.push(transport);
    await fabric.down();
    const states: TransportState[] = [];
    transport.start({ onState: (state) => states.push(state), onRenewed: () => {} });
    const here = channel();
    const { got } = await collect(transport, here);
    expect(states[0]).toEqual({ state: "connecting" });
    await fabric.up();
    await until("it is connected", () => states.at(-1)?.state === "connected");
    await publish(transport, here, ["hello"]);
    await until("it works", () => got.length === 1);
  });

  test("closes while it is cut off, and delivers nothing after it", async () => {
    const { transport, states } = await connected("one");
    const here = channel();
    const { got } = await collect(transport, here);
    await publish(transport, here, ["x"]);
    await until("it is there", () => got.length === 1);
    await fabric.down();
    await until("it is noticed", () => states.at(-1)?.state === "lost");
    await transport.close();
    await fabric.up();
    expect(got).toEqual(["x"]);
    await expect(transport.publish(here, Buffer.from("y"))).rejects.toMatchObject({ failure: "disconnected" });
  });
});
