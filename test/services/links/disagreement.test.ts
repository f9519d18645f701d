import { describe, expect, test } from "vitest";
import { bothUp, setting } from "../../support/delivery.ts";
import { appliedNumbers, oneTo } from "../../support/link-pair.ts";

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
