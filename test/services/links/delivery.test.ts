import { describe, expect, test } from "vitest";
import { createLinkSeal } from "../../../services/links/envelope.ts";
import { generateKeys } from "../../../services/links/keys.ts";
import { createMemoryFabric, type Disturbance } from "../../../services/links/memory/transport.ts";
import { MemoryClock } from "../../../services/runtime/memory-clock.ts";
import type { LinkChannel, LinkTransport } from "../../../services/runtime/ports/link-transport.ts";
import { appliedNumbers, arrived, type LinkEnd, linkPair, oneTo } from "../../support/link-pair.ts";

type Published = { channel: LinkChannel; payload: Uint8Array };

/** Two ends over a memory fabric under a clock of ours, and everything that was published. */
function setting(options: Parameters<typeof linkPair>[2] = {}) {
  const clock = new MemoryClock();
  let disturb: (channel: LinkChannel) => Disturbance = () => "keep";
  const fabric = createMemoryFabric({ clock, disturb: (channel) => disturb(channel) });
  const published: Published[] = [];
  const { linkId, a, b } = linkPair("delivery", clock, options);
  function transport(end: LinkEnd): LinkTransport {
    const inner = fabric.transport(end.environmentId);
    return {
      ...inner,
      async publish(channel, payload) {
        published.push({ channel, payload });
        await inner.publish(channel, payload);
      },
    };
  }
  return {
    clock,
    fabric,
    linkId,
    a,
    b,
    published,
    by: (end: LinkEnd) => published.filter(({ channel }) => channel.from === end.environmentId),
    start: (end: LinkEnd) => end.start(transport(end)),
    outsider: fabric.transport("outsider"),
    disturb(how: (channel: LinkChannel) => Disturbance) {
      disturb = how;
    },
    quiet: () => clock.runUntil(() => arrived(a, b) && arrived(b, a), 60_000),
  };
}

const toPeer = (linkId: string, from: LinkEnd, to: LinkEnd): LinkChannel => ({ linkId, to: to.environmentId, from: from.environmentId });

/** Seals as `from` itself would. */
const sealOf = (linkId: string, from: LinkEnd, to: LinkEnd, keys = from.keys) =>
  createLinkSeal({
    linkId,
    self: { environmentId: from.environmentId, keys },
    peer: { environmentId: to.environmentId, publicKey: to.keys.publicKey },
  });

const plainHead = (from: LinkEnd) => ({
  incarnation: from.ledger.incarnation,
  commit: 1,
  epoch: 1,
  number: 1,
  kind: "notice" as const,
  requestId: null,
  sentAt: 0,
  carries: "body" as const,
  trace: null,
});

async function bothUp(options: Parameters<typeof linkPair>[2] = {}) {
  const made = setting(options);
  await made.start(made.a);
  await made.start(made.b);
  return made;
}

test("a busy link sends one receipt for a batch, an idle one at once", async () => {
  const { a, b, by, quiet, clock } = await bothUp({ publishesInFlight: 1 });
  await quiet();
  const before = by(b).length;
  a.write(60);
  expect(await quiet()).toBe(true);
  // The first went alone; the other 59 gathered while it was on its way.
  expect(by(b).length - before).toBe(2);
  const now = clock.now();
  a.write(1);
  expect(await quiet()).toBe(true);
  expect(clock.now()).toBe(now);
});

test("a forged message is counted and moves nothing, and the two sides ask each other where they stand", async () => {
  const { a, b, by, linkId, outsider, quiet } = await bothUp();
  a.write(1);
  await quiet();
  const asked = by(b).length;
  const forger = sealOf(linkId, a, b, generateKeys());
  outsider.start({ onState() {}, onRenewed() {} });
  await outsider.publish(toPeer(linkId, a, b), forger.seal([{ head: { ...plainHead(a), number: 2 }, body: Buffer.from("{}") }]));
  a.write(1);
  expect(await quiet()).toBe(true);
  expect(b.stats.refused.notAuthentic).toBe(1);
  expect(appliedNumbers(b)).toEqual([1, 2]);
  expect(by(b).length).toBeGreaterThan(asked);
});

test("everything that was ever published can be delivered again without any effect", async () => {
  const { a, b, published, outsider, quiet, clock } = await bothUp();
  a.write(5);
  b.write(5);
  await quiet();
  a.write(5);
  await quiet();
  outsider.start({ onState() {}, onRenewed() {} });
  for (const { channel, payload } of [...published]) await outsider.publish(channel, payload);
  await clock.advance(120_000);
  expect([appliedNumbers(b), appliedNumbers(a)]).toEqual([oneTo(10), oneTo(5)]);
  expect([a.state.diverged, b.state.diverged]).toEqual([false, false]);
  a.write(1);
  expect(await quiet()).toBe(true);
});

test("every repeat is answered with a receipt again", async () => {
  const { a, b, by, outsider, quiet, clock } = await bothUp();
  await quiet();
  const before = by(a).length;
  a.write(1);
  await quiet();
  const numbered = by(a)[before];
  if (numbered === undefined) throw new Error("nothing was published");
  const receipts = by(b).length;
  outsider.start({ onState() {}, onRenewed() {} });
  await outsider.publish(numbered.channel, numbered.payload);
  await clock.advance(0);
  expect(by(b).length).toBe(receipts + 1);
  expect(b.stats).toMatchObject({ received: 1, repeats: 1 });
});

test("a receipt that was lost is made good when the sender asks", async () => {
  const { a, b, disturb, quiet, clock } = await bothUp();
  await quiet();
  disturb((channel) => (channel.from === b.environmentId ? "drop" : "keep"));
  a.write(3);
  await clock.advance(1);
  expect([appliedNumbers(b), a.stats.backlog]).toEqual([oneTo(3), 3]);
  disturb(() => "keep");
  expect(await quiet()).toBe(true);
  expect([appliedNumbers(b), a.stats.repeated]).toEqual([oneTo(3), 0]);
});

test("what the fabric refused is tried again soon, without anybody asking for it", async () => {
  const { a, b, disturb, clock } = await bothUp();
  await clock.advance(1);
  disturb((channel) => (channel.from === a.environmentId ? "refuse" : "keep"));
  a.write(2);
  await clock.advance(50);
  expect(a.stats.heldBack).toMatchObject({ failure: "failed" });
  const exchanged = b.stats.lastExchangeAt;
  disturb(() => "keep");
  await clock.advance(500);
  expect(appliedNumbers(b)).toEqual([1, 2]);
  expect([a.stats.heldBack, a.stats.backlog]).toEqual([null, 0]);
  expect(b.stats.lastExchangeAt).toBe(exchanged);
});

test("an authentic body that cannot be understood takes its number, is kept as it came, and what follows is applied", async () => {
  const { a, b, linkId, quiet } = await bothUp();
  a.write(1);
  a.ledger.write(linkId, '{"type":"haggle","offer":3}');
  a.write(1);
  expect(await quiet()).toBe(true);
  expect(b.state.applied.map(({ body }) => body === null)).toEqual([false, true, false]);
  expect(b.state.applied[1]?.raw).toBe('{"type":"haggle","offer":3}');
  expect(b.stats.refused).toEqual({ notAuthentic: 0, unusable: 1 });
});

test("a store in trouble makes the link wait where everybody can see it, and go on when the trouble is over", async () => {
  const { a, b, quiet, clock } = await bothUp();
  a.write(2);
  await quiet();
  b.ledger.trouble = "the disk is full";
  a.write(300);
  await clock.advance(20_000);
  expect(b.stats.waiting).toMatchObject({ reason: "the disk is full" });
  expect(appliedNumbers(b)).toEqual([1, 2]);
  // It has said that it holds the next one, so nothing is sent to it again and again.
  expect(a.stats.repeated).toBe(0);
  b.ledger.trouble = null;
  expect(await quiet()).toBe(true);
  expect(appliedNumbers(b)).toEqual(oneTo(302));
  expect(b.stats.waiting).toBe(null);
});

test("with its peer away a sender hands over its window and no more, and the backlog is seen", async () => {
  const { a, start, b, clock, quiet, by } = setting({ windowMessages: 50, frameMessages: 10 });
  await start(a);
  a.write(500);
  await clock.advance(10_000);
  expect(a.stats).toMatchObject({ sent: 50, backlog: 500, answered: false });
  await clock.advance(7 * 24 * 3_600_000);
  // A week of unanswered questions, at least ten minutes apart once it has grown quiet.
  expect(by(a).length).toBeLessThan(1_100);
  expect(a.stats.sent).toBe(50);
  await start(b);
  expect(await quiet()).toBe(true);
});

test("an idle link exchanges positions twice a minute, and no more", async () => {
  const { a, b, published, clock, quiet } = await bothUp();
  a.write(1);
  await quiet();
  await clock.advance(60_000);
  const before = published.length;
  const last = a.stats.lastExchangeAt;
  await clock.advance(600_000);
  const exchanges = (published.length - before) / 2;
  expect(exchanges).toBeGreaterThanOrEqual(18);
  expect(exchanges).toBeLessThanOrEqual(42);
  expect(a.stats.lastExchangeAt).toBeGreaterThan(last ?? 0);
  expect(b.stats.lastExchangeAt).toBeGreaterThan(last ?? 0);
});

test("a question is answered although later statements came with it", async () => {
  const { a, b, linkId, by, fabric, outsider, quiet, clock } = await bothUp();
  a.write(1);
  await quiet();
  fabric.cut(b.environmentId);
  const theirs = sealOf(linkId, a, b);
  const { sent, received, receipted, peerIncarnation: peer } = a.state;
  const positions = { incarnation: a.ledger.incarnation, sent, received, receipted, peer, previous: null };
  outsider.start({ onState() {}, onRenewed() {} });
  for (const challenge of ["older", "the question", null]) {
    const statement = { type: "positions", positions, challenge, answers: null, holdsNext: false };
    const head = { ...plainHead(a), number: 0, commit: 0, kind: "control" as const };
    await outsider.publish(toPeer(linkId, a, b), theirs.seal([{ head, body: Buffer.from(JSON.stringify(statement)) }]));
  }
  const before = by(b).length;
  fabric.restore(b.environmentId);
  await clock.advance(1);
  const said = by(b)
    .slice(before)
    .flatMap(({ payload }) => {
      const opened = theirs.open(payload);
      return opened.ok ? opened.messages.map(({ body }) => JSON.parse(body.toString()) as { answers?: string | null }) : [];
    });
  expect(said.map(({ answers }) => answers)).toContain("the question");
  expect(said.map(({ answers }) => answers)).not.toContain("older");
});

test("a head that calls its body something else than it is makes it unusable, not more", async () => {
  const { a, b, linkId, outsider, clock } = await bothUp();
  await clock.advance(1);
  const body = Buffer.from(
    JSON.stringify({ type: "answer", requestId: `req:${a.environmentId.slice(4)}`, answer: { ok: true, result: {} } }),
  );
  outsider.start({ onState() {}, onRenewed() {} });
  await outsider.publish(toPeer(linkId, a, b), sealOf(linkId, a, b).seal([{ head: plainHead(a), body }]));
  await clock.advance(1);
  expect(b.state.applied.map(({ number, body: read }) => [number, read])).toEqual([[1, null]]);
});

test("the store is told that a link is connected once its peer has answered, not before", async () => {
  const { a, b, start, fabric, clock } = setting();
  await start(a);
  await clock.advance(5_000);
  expect(a.state.reports).toEqual(["connecting"]);
  await start(b);
  await clock.advance(1);
  expect(a.state.reports).toEqual(["connecting", "connected"]);
  fabric.cut(a.environmentId);
  await clock.advance(1);
  expect(a.state.reports.at(-1)).toBe("lost");
  fabric.restore(a.environmentId);
  await clock.advance(1);
  expect(a.state.reports.slice(2)).toEqual(["lost", "connecting", "connected"]);
});

describe("stores that disagree", () => {
  test("stop applying, on both sides, when one remembers having sent something else", async () => {
    const { a, b, clock, quiet } = await bothUp();
    a.write(3);
    await quiet();
    const { sent } = a.state;
    a.state.sent = { ...sent, digest: "f".repeat(64) };
    await clock.advance(60_000);
    expect([a.stats.diverged, b.stats.diverged]).toEqual([true, true]);
    a.write(2);
    b.write(2);
    await clock.advance(60_000);
    expect([appliedNumbers(b), appliedNumbers(a)]).toEqual([oneTo(3), []]);
  });

  test("notice a peer that was set back, even one that does not know it itself", async () => {
    const { a, b, clock, quiet } = await bothUp();
    a.write(3);
    await quiet();
    // b's store is as it was before message 3, and nobody told it.
    b.state.received = { epoch: 1, number: 2, digest: b.state.received?.digest ?? "" };
    await clock.advance(60_000);
    expect(a.stats.diverged).toBe(true);
  });

  test("go on in a new epoch once a person has joined them again", async () => {
    const { a, b, clock, linkId, quiet } = await bothUp();
    a.write(3);
    await quiet();
    a.state.diverged = true;
    b.state.diverged = true;
    a.write(4);
    await clock.advance(60_000);
    expect(appliedNumbers(b)).toEqual(oneTo(3));
    a.ledger.rejoin(linkId);
    b.ledger.rejoin(linkId);
    await clock.runUntil(() => a.stats.backlog === 0 && b.state.applied.length === 7, 120_000);
    expect(b.state.applied.map(({ epoch, number }) => [epoch, number]).slice(3)).toEqual(oneTo(4).map((number) => [2, number]));
  });
});

test("a revoked link sends nothing and takes nothing", async () => {
  const { a, b, start, by, clock, linkId } = setting();
  a.ledger.link(linkId).revoked = true;
  await start(a);
  await start(b);
  a.write(3);
  b.write(3);
  await clock.advance(60_000);
  expect([by(a).length, appliedNumbers(a), appliedNumbers(b)]).toEqual([0, [], []]);
});

describe("a body too large for a message", () => {
  const large = (fill: string) => JSON.stringify({ type: "other", fill: fill.repeat(400_000) });

  test("arrives whole and in its place", async () => {
    const { a, b, linkId, quiet } = await bothUp();
    a.write(1);
    a.ledger.write(linkId, large("x"));
    a.write(1);
    a.ledger.write(linkId, large("y"));
    expect(await quiet()).toBe(true);
    expect(b.state.applied.map(({ raw }) => raw.length)).toEqual([
      b.state.applied[0]?.raw.length,
      400_026,
      b.state.applied[2]?.raw.length,
      400_026,
    ]);
    expect(b.state.applied[3]?.raw).toBe(large("y"));
  });

  test("is asked for and put again when the fabric lost it or holds something else", async () => {
    const { a, b, linkId, fabric, quiet, clock, outsider } = await bothUp();
    outsider.start({ onState() {}, onRenewed() {} });
    const harm = [
      (name: string) => outsider.putBlob(linkId, name, Buffer.from("something else")),
      (name: string) => outsider.deleteBlob(linkId, name),
    ];
    for (const [round, hurt] of harm.entries()) {
      await quiet();
      fabric.cut(b.environmentId);
      a.ledger.write(linkId, large(`${round}`));
      a.write(1);
      await clock.advance(10);
      fabric.cut(a.environmentId);
      const number = round * 2 + 1;
      await hurt(`${a.environmentId}/1/${number}`);
      fabric.restore(b.environmentId);
      await clock.advance(10);
      expect(b.stats.waitingForBlob).toMatchObject({ number });
      expect(appliedNumbers(b)).toEqual(oneTo(number - 1));
      fabric.restore(a.environmentId);
      expect(await quiet()).toBe(true);
      expect(b.stats.waitingForBlob).toBe(null);
    }
    expect(b.state.applied[2]?.raw).toBe(large("1"));
  });

  test("is gone from the fabric once its receipt has come", async () => {
    const { a, linkId, quiet, clock, outsider } = await bothUp();
    a.ledger.write(linkId, large("x"));
    expect(await quiet()).toBe(true);
    await clock.advance(1);
    outsider.start({ onState() {}, onRenewed() {} });
    expect(await outsider.getBlob(linkId, `${a.environmentId}/1/1`)).toBe(null);
  });

  test("beyond what is fetched at all takes its number under the digest of the body, unread", async () => {
    const { a, b, linkId, quiet } = await bothUp({ maxBlobBytes: 300_000 });
    a.ledger.write(linkId, large("x"));
    a.write(1);
    expect(await quiet()).toBe(true);
    expect([b.state.diverged, b.state.applied.map(({ body }) => body === null)]).toEqual([false, [true, false]]);
  });
});
