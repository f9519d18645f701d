import { rmSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { TaskId, ThreadId } from "../../schemas/ids.ts";
import { createMemoryFabric } from "../../services/links/memory/transport.ts";
import { systemClock } from "../../services/runtime/system-clock.ts";
import { until } from "../support/environments.ts";
import { expectEachConsumedOnce, familyScript, goOn, resultsFor, taskEnded } from "../support/families.ts";
import { spawnOn } from "../support/link-talk.ts";
import { bothFabrics, type LinkedSide, linkedPair, memoryFabric, settled } from "../support/linked.ts";

const fabrics = bothFabrics();
const family = { scripts: { p1: familyScript } };

async function importTo(from: LinkedSide, to: LinkedSide, handoffId: string): Promise<ThreadId> {
  const messages = [{ role: "user", text: handoffId }];
  const wish = { handoffId, sourceEnvironmentId: "x", sourceThreadId: "the-source", messages };
  return ((await from.env.send({ type: "link.import", environmentId: to.id, import: wish } as never)) as { threadId: ThreadId }).threadId;
}
const has = (side: LinkedSide, threadId: ThreadId) => side.env.threads.get(threadId) !== null;

function childAtWork(side: LinkedSide, taskId: TaskId) {
  return until(() => {
    const child = side.env.threads.list().find((t) => t.task?.taskId === taskId);
    const run = child === undefined ? undefined : side.env.threads.runs(child.id)[0];
    return run?.status === "waiting" && { threadId: run.threadId, runId: run.id };
  }, "the child is at work");
}

/** Both sides say that they disagree, and nothing more crosses either way. */
async function expectDiverged(a: LinkedSide, b: LinkedSide): Promise<void> {
  for (const [side, peer] of [
    [a, b],
    [b, a],
  ] as const) {
    const link = await until(() => side.link(peer).status === "diverged" && side.link(peer), `${side.name} sees it`);
    expect(link.divergence).toMatchObject({
      reason: expect.any(String),
      ours: { sent: { number: expect.any(Number) } },
      theirs: { sent: { number: expect.any(Number) } },
    });
  }
  const before = [a, b].map((side) => [side.env.threads.list({ includeDeleted: true }), side.link(side === a ? b : a).received]);
  const toB = await importTo(a, b, "after, to b");
  const toA = await importTo(b, a, "after, to a");
  await a.stop();
  await a.start();
  await b.stop();
  await b.start();
  await until(
    () => [a, b].every((side) => side.link(side === a ? b : a).statistics?.transport === "connected"),
    "both are connected again",
  );
  // Long enough for what would cross to have crossed: a whole exchange of two other environments.
  const { a: c, b: d } = await linkedPair(memoryFabric());
  await importTo(c, d, "a measure of time");
  await settled(c, d);
  expect([has(b, toB), has(a, toA)]).toEqual([false, false]);
  expect([a, b].map((side) => [side.env.threads.list({ includeDeleted: true }), side.link(side === a ? b : a).received])).toEqual(before);
  expect([a.link(b).backlog > 0, b.link(a).backlog > 0]).toEqual([true, true]);
}

describe.each(fabrics)("a store that is not what it was, linked %s", (_name, fabric) => {
  test("a store that is set back behind what it had confirmed is a new incarnation, and the link diverges with nothing applied", async () => {
    const { a, b } = await linkedPair(fabric());
    await importTo(a, b, "h1");
    await settled(a, b);
    await b.stop();
    const copy = b.copy();
    await b.start();
    const { incarnation } = b.env.health();
    const second = await importTo(a, b, "h2");
    await settled(a, b);
    await b.stop();
    b.setBackTo(copy);
    await b.start();
    expect(b.env.health()).toMatchObject({ isNewIncarnation: true });
    expect(b.env.health().incarnation).not.toBe(incarnation);
    expect(has(b, second)).toBe(false);
    await expectDiverged(a, b);
    expect(a.link(b).divergence).toMatchObject({
      ours: { receipted: { epoch: 1, number: 2 } },
      theirs: { previous: { incarnation, received: { epoch: 1, number: 1 } } },
    });
    expect(has(b, second)).toBe(false);
  });

  test("a store that is set back behind what its peer has of it is a new incarnation, and the link diverges with nothing applied", async () => {
    const { a, b } = await linkedPair(fabric());
    await importTo(b, a, "h1");
    await settled(a, b);
    await b.stop();
    const copy = b.copy();
    await b.start();
    await importTo(b, a, "h2");
    await settled(a, b);
    await b.stop();
    b.setBackTo(copy);
    await b.start();
    await expectDiverged(a, b);
    expect(a.link(b).divergence).toMatchObject({ ours: { received: { number: 2 } }, theirs: { previous: { sent: { number: 1 } } } });
  });

  test("a store that is moved with nothing lost goes on as a new incarnation in a new epoch, and everything arrives once", async () => {
    const { a, b } = await linkedPair(fabric(), { b: family });
    const first = await spawnOn(a, b, "wait for me");
    const child = await childAtWork(b, first.taskId);
    await settled(a, b);
    const { incarnation } = b.env.health();
    await a.stop();
    // What waits on both sides when the folder is copied.
    await goOn(b.env, child);
    const fromB = await importTo(b, a, "from b");
    await b.stop();
    await a.start();
    const second = await spawnOn(a, b, "look");
    const old = b.dir;
    b.dir = b.copy();
    rmSync(old, { recursive: true });
    await b.start();

    expect((await taskEnded(a.env, first.taskId)).status).toBe("completed");
    expect((await taskEnded(a.env, second.taskId)).status).toBe("completed");
    await settled(a, b);
    expect(b.env.health().incarnation).not.toBe(incarnation);
    expect(b.link(a)).toMatchObject({ status: "online", sent: { epoch: 2 }, divergence: null });
    expect(a.link(b)).toMatchObject({ status: "online", sent: { epoch: 1 }, received: { epoch: 2 }, divergence: null });
    expect(has(a, fromB)).toBe(true);
    expect(a.env.threads.list().filter((t) => t.historyOrigin === "v1_import")).toHaveLength(1);
    for (const { parentThreadId } of [first, second]) {
      expect(resultsFor(a.env, parentThreadId)).toHaveLength(1);
      await a.env.say(parentThreadId, "what came of it?");
      expectEachConsumedOnce(a.env, resultsFor(a.env, parentThreadId));
    }
    // And again: the next epoch follows on this one.
    await b.stop();
    b.dir = b.copy();
    await b.start();
    await importTo(b, a, "again");
    await settled(a, b);
    expect(b.link(a)).toMatchObject({ sent: { epoch: 3 } });
  });

  test("a store that is moved twice before its peer hears of it goes on all the same", async () => {
    const { a, b } = await linkedPair(fabric());
    await importTo(a, b, "h1");
    await importTo(b, a, "h1");
    await settled(a, b);
    await a.stop();
    for (const handoffId of ["h2", "h3"]) {
      await importTo(b, a, handoffId);
      await b.stop();
      b.dir = b.copy();
      await b.start();
    }
    await a.start();
    await settled(a, b);
    expect(a.env.threads.list()).toHaveLength(3);
    expect(a.link(b).divergence).toBeNull();
  });

  test("a link over which nothing was said yet goes on after a move", async () => {
    const { a, b } = await linkedPair(fabric());
    await until(() => a.link(b).status === "online" && b.link(a).status === "online", "they know each other");
    await b.stop();
    b.dir = b.copy();
    await b.start();
    await importTo(a, b, "h1");
    await importTo(b, a, "h1");
    await settled(a, b);
  });
});

test.each([
  ["has said nothing", false],
  ["has sent something", true],
])("a store whose copy is at work already, and %s, sees so, and is neither believed nor obeyed", async (_what, says) => {
  const { a, b } = await linkedPair(memoryFabric());
  await importTo(a, b, "h1");
  await settled(a, b);
  await b.stop();
  const original = b.dir;
  b.dir = b.copy();
  await b.start();
  if (says) await importTo(b, a, "from the copy");
  await settled(a, b);
  const threads = a.env.threads.list().length;
  await b.stop();

  const copy = b.dir;
  b.dir = original;
  await b.start();
  await importTo(b, a, "from the original");
  await until(() => b.link(a).status === "diverged", "the original sees it");
  if (!says) expect(b.link(a).divergence?.reason).toContain("copy");
  const waits = await importTo(a, b, "for the copy");
  expect(has(b, waits)).toBe(false);
  await b.stop();
  expect(a.link(b)).toMatchObject({ status: "online", backlog: 1 });
  expect(a.env.threads.list()).toHaveLength(threads);

  b.dir = copy;
  await b.start();
  await settled(a, b);
  expect(has(b, waits)).toBe(true);
});

test("a result that had arrived although its receipt was lost is told again after a move, and is no second result", async () => {
  let deaf = false;
  const inner = createMemoryFabric({ clock: systemClock, disturb: (channel) => (deaf && channel.from === aId ? "drop" : "keep") });
  let aId = "";
  const { a, b } = await linkedPair({ nats: null, transport: inner.transport }, { b: family });
  aId = a.id;
  const { parentThreadId, taskId } = await spawnOn(a, b, "wait for me");
  const child = await childAtWork(b, taskId);
  await settled(a, b);
  deaf = true;
  await goOn(b.env, child);
  expect((await taskEnded(a.env, taskId)).status).toBe("completed");
  expect(b.link(a).backlog).toBe(1);
  await b.stop();
  b.dir = b.copy();
  deaf = false;
  await b.start();
  expect(b.link(a)).toMatchObject({ sent: { epoch: 2, number: 1 } });
  await settled(a, b);
  expect(a.link(b).received).toMatchObject({ epoch: 2, number: 1 });
  expect(resultsFor(a.env, parentThreadId)).toHaveLength(1);
  expect(a.env.tasks.get(taskId)).toMatchObject({ results: 1 });
});
