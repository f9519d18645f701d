import { expect, test } from "vitest";
import { generateKeys } from "../../../services/links/keys.ts";
import { bothUp, plainHead, sealOf, setting, toPeer } from "../../support/delivery.ts";
import { appliedNumbers, oneTo } from "../../support/link-pair.ts";

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
