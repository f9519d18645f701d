import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { createNatsTransport } from "../../../services/links/nats/transport.ts";
import { systemClock } from "../../../services/runtime/system-clock.ts";
import { appliedNumbers, arrived, type LinkEnd, linkPair, oneTo } from "../../support/link-pair.ts";
import { TestNats } from "../../support/nats.ts";
import { until } from "../../support/until.ts";

let nats: TestNats;
const running: LinkEnd[] = [];
beforeAll(async () => {
  nats = await TestNats.start();
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((end) => end.stop()));
});
afterAll(() => nats.end());

async function pair() {
  const { linkId, a, b } = linkPair(randomUUID(), systemClock);
  await wake(a);
  await wake(b);
  return { linkId, a, b };
}

async function wake(end: LinkEnd): Promise<void> {
  running.push(end);
  await end.start(createNatsTransport({ url: nats.url, name: end.environmentId }));
}

async function sleep(end: LinkEnd): Promise<void> {
  running.splice(running.indexOf(end), 1);
  await end.stop();
}

/** Both directions are complete, in order, each once, receipted, and nobody has anything against it. */
async function quiet(a: LinkEnd, b: LinkEnd): Promise<void> {
  await until("everything has arrived and is receipted", () => arrived(a, b) && arrived(b, a), 25_000);
  expect(appliedNumbers(b)).toEqual(oneTo(a.state.sent.number));
  expect(appliedNumbers(a)).toEqual(oneTo(b.state.sent.number));
  expect([a.state.diverged, b.state.diverged]).toEqual([false, false]);
}

/** Writes on both sides while something happens to the server. */
async function traffic(a: LinkEnd, b: LinkEnd, during: () => Promise<void>): Promise<void> {
  let busy = true;
  const writing = (async () => {
    while (busy) {
      a.write(3);
      b.write(2);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  })();
  await during();
  busy = false;
  await writing;
}

test("two environments exchange hundreds of messages both ways, in order and each once", async () => {
  const { a, b } = await pair();
  a.write(400);
  b.write(300);
  await quiet(a, b);
  expect(a.stats).toMatchObject({ transport: "connected", answered: true, backlog: 0, refused: { notAuthentic: 0, unusable: 0 } });
  expect(a.state.reports).toEqual(["connecting", "connected"]);
});

test("a broker that is killed in the middle and started again loses and repeats nothing for the two stores", async () => {
  const { a, b } = await pair();
  await traffic(a, b, async () => {
    for (let round = 0; round < 3; round += 1) {
      await until("some arrived", () => b.state.applied.length > round * 100);
      await nats.kill();
      await until("it is noticed", () => a.stats.transport === "lost" && b.stats.transport === "lost");
      await nats.start();
      await until("both are connected", () => a.stats.transport === "connected" && b.stats.transport === "connected");
    }
  });
  await quiet(a, b);
  expect(a.state.sent.number).toBeGreaterThan(100);
}, 60_000);

test("a broker that loses its whole disk in the middle is filled again from the two stores", async () => {
  const { a, b } = await pair();
  await traffic(a, b, async () => {
    await until("some arrived", () => b.state.applied.length > 100);
    await nats.kill();
    nats.wipe();
    await nats.start();
    const before = b.state.applied.length;
    await until("it goes on", () => b.state.applied.length > before + 100);
  });
  await quiet(a, b);
}, 60_000);

test("a broker that stands still for a while, and then takes what had been given up, repeats nothing for the stores", async () => {
  const { a, b } = await pair();
  await traffic(a, b, async () => {
    await until("some arrived", () => b.state.applied.length > 50);
    process.kill(nats.pid, "SIGSTOP");
    await until("nothing is taken", () => a.stats.heldBack !== null);
    process.kill(nats.pid, "SIGCONT");
    await until("it goes on", () => a.stats.heldBack === null);
  });
  await quiet(a, b);
}, 60_000);

test("what lay in a broker for a sleeping peer and was lost with its disk is sent again when the peer wakes", async () => {
  const { a, b } = await pair();
  a.write(10);
  await quiet(a, b);
  await sleep(b);
  a.write(200);
  await until("the broker has them", () => a.stats.sent >= 210);
  await nats.kill();
  nats.wipe();
  await nats.start();
  await wake(b);
  await quiet(a, b);
}, 60_000);

test("a peer that sleeps finds on waking what was sent meanwhile, also when its sender sleeps by then", async () => {
  const { a, b } = await pair();
  b.write(5);
  await quiet(a, b);
  await sleep(b);
  a.write(300);
  await until("the broker has them", () => a.stats.sent === 300);
  await sleep(a);
  await wake(b);
  await until("the waking one has them all", () => b.state.applied.length === 300);
  b.write(7);
  await wake(a);
  await quiet(a, b);
});

test("bodies of five megabytes travel beside the messages, in their order, and leave nothing behind", async () => {
  const { linkId, a, b } = await pair();
  const large = (fill: string) => JSON.stringify({ fill: fill.repeat(5 * 1024 * 1024) });
  a.write(2);
  a.ledger.write(linkId, large("x"));
  a.write(2);
  b.ledger.write(linkId, large("ü"));
  a.ledger.write(linkId, large("y"));
  await quiet(a, b);
  expect(b.state.applied.map(({ raw }) => raw.length > 1_000_000)).toEqual([false, false, true, false, false, true]);
  expect(b.state.applied[2]?.raw === large("x") && b.state.applied[5]?.raw === large("y") && a.state.applied[0]?.raw === large("ü")).toBe(
    true,
  );
  const look = createNatsTransport({ url: nats.url, name: "look" });
  const { promise: up, resolve } = Promise.withResolvers<void>();
  look.start({ onState: ({ state }) => state === "connected" && resolve(), onRenewed: () => {} });
  await up;
  let left = 1;
  await until("the blobs are deleted", () => {
    void look.getBlob(linkId, `${a.environmentId}/1/3`).then((bytes) => {
      left = bytes?.length ?? 0;
    });
    return left === 0;
  });
  await look.close();
}, 60_000);

test("a blob that the broker lost before it was read is put again", async () => {
  const { linkId, a, b } = await pair();
  a.write(1);
  await quiet(a, b);
  await sleep(b);
  a.ledger.write(linkId, JSON.stringify({ fill: "z".repeat(2 * 1024 * 1024) }));
  a.write(3);
  await until("the broker has them", () => a.stats.sent === 5);
  const remove = createNatsTransport({ url: nats.url, name: "remove" });
  const { promise: up, resolve } = Promise.withResolvers<void>();
  remove.start({ onState: ({ state }) => state === "connected" && resolve(), onRenewed: () => {} });
  await up;
  await remove.deleteBlob(linkId, `${a.environmentId}/1/2`);
  await remove.close();
  await wake(b);
  await quiet(a, b);
}, 60_000);
