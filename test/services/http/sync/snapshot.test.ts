import { expect, test } from "vitest";
import type { ThreadId } from "../../../../schemas/ids.ts";
import { type ItemView, ThreadSnapshot } from "../../../../schemas/thread-view.ts";
import { withOlderThreads } from "../../../../services/http/client/apply-environment.ts";
import { withOlderTurns } from "../../../../services/http/client/apply-thread.ts";
import { environmentSnapshot, olderThreads } from "../../../../services/http/sync/environment-snapshot.ts";
import { olderTurns, threadSnapshot } from "../../../../services/http/sync/thread-snapshot.ts";
import type { Environment } from "../../../../services/runtime/environment-api.ts";
import { startEnvironment, type TestEnvironment } from "../../../support/environments.ts";
import { familyScript, goOn, parentAtWork, spawnAsAgent, taskEnded } from "../../../support/families.ts";

const itemsOf = (view: ThreadSnapshot): ItemView[] => view.turns.flatMap(({ items = [] }) => items);

async function viewOf(environment: Environment, id: ThreadId, limit = 1_000): Promise<ThreadSnapshot> {
  const view = await threadSnapshot(environment, id, limit);
  if (view === null) throw new Error(`${id} is not there`);
  ThreadSnapshot.parse(view);
  return view;
}

/** A thread of `runs` runs, a fork of it that says more, and a fork of that one. */
async function family(env: TestEnvironment, runs: number): Promise<ThreadId> {
  let threadId = await env.newThread({ title: "the first" });
  for (const generation of [1, 2, 3]) {
    for (let n = 0; n < runs; n += 1) await env.say(threadId, `generation ${generation}, message ${n}`);
    if (generation < 3) threadId = (await env.send({ type: "thread.fork", threadId, at: { kind: "latest_stable" } })).threadId;
  }
  return threadId;
}

test("a view holds all that a person looks at of a thread: inherited turns marked, its own, what it takes part in, at one commit", async () => {
  const env = await startEnvironment({ scripts: { p1: familyScript } });
  const id = await family(env, 2);
  const parent = await parentAtWork(env);
  const { taskId, childThreadId } = await spawnAsAgent(env, parent, "count the files");
  await taskEnded(env, taskId);
  await goOn(env, parent);

  const view = await viewOf(env, id);
  expect(view.commit).toBe(env.lastCommit);
  const all = env.threads.items(id);
  expect(itemsOf(view).map((item) => item.id)).toEqual(all.map((item) => item.id));
  expect(view.turns.flatMap((turn) => (turn.items ?? []).map(() => turn.inheritedFrom != null))).toEqual(all.map((item) => item.inherited));
  expect(view.transfers?.map((transfer) => [transfer.type, transfer.status])).toEqual([["fork", "consumed"]]);
  expect(view.olderThan).toBeUndefined();

  const told = await viewOf(env, parent.threadId);
  expect(told.tasks).toMatchObject([{ id: taskId, status: "completed", childThreadId }]);
  expect(told.transfers?.map(({ type }) => type).sort()).toEqual(["subagent_result", "subagent_spawn"]);
  expect((await viewOf(env, childThreadId as ThreadId)).tasks).toMatchObject([{ id: taskId, parentThreadId: parent.threadId }]);
});

test("pages from the newest back to the first hold every item once, in order, whatever their size, also across what is inherited", async () => {
  const env = await startEnvironment();
  const id = await family(env, 4);
  const whole = await viewOf(env, id);
  for (const limit of [1, 2, 3, 5, 7, 100]) {
    let view = await viewOf(env, id, limit);
    for (let pages = 0; view.olderThan != null; pages += 1) {
      expect(pages).toBeLessThan(100);
      const before = env.threads.item(view.olderThan as never);
      if (before === null) throw new Error("the oldest item is not there");
      const page = await olderTurns(env, id, before, limit);
      if (page === null) throw new Error("there is no older page");
      expect(page.turns.flatMap(({ items = [] }) => items).length).toBeGreaterThan(0);
      expect(page.turns.flatMap(({ items = [] }) => items).length).toBeLessThanOrEqual(limit);
      view = withOlderTurns(view, page);
    }
    expect(view, `pages of ${limit}`).toEqual(whole);
  }
});

test("an item that the thread does not show is no place to page from", async () => {
  const env = await startEnvironment();
  const id = await family(env, 2);
  const other = await env.newThread();
  await env.say(other, "elsewhere");
  const foreign = env.threads.items(other)[0]!;
  expect(await olderTurns(env, id, foreign, 10)).toBeNull();
  // Said in the parent after the fork was made.
  const parent = env.threads.get(id)?.lineage.parentThreadId as ThreadId;
  await env.say(parent, "later");
  expect(await olderTurns(env, id, env.threads.items(parent, { ownOnly: true }).at(-1)!, 10)).toBeNull();
});

test("what is large is given by its size, without a digest, and is fetched by the id of its item", async () => {
  const output = "x".repeat(100_000);
  const steps = [
    { command: { command: "make", output: "y".repeat(3_000), exitCode: 2 } },
    { command: { command: "make -n", output } },
    { text: "z".repeat(20_000) },
  ];
  const env = await startEnvironment({ scripts: { p1: { rules: [{ match: { contains: "go" }, steps }] } } });
  const id = await env.newThread();
  await env.say(id, "go");
  const view = await viewOf(env, id);
  expect(itemsOf(view)).toMatchObject([
    { kind: "user_message", content: "go" },
    { kind: "command", command: "make", exitCode: 2, output: { bytes: 3_000 } },
    { kind: "command", command: "make -n", output: { bytes: 100_000 } },
    { kind: "assistant_message", content: { bytes: 20_000, begins: "z".repeat(500) } },
  ]);
  expect(JSON.stringify(view)).not.toMatch(/digest|[0-9a-f]{64}/);
  expect(Buffer.byteLength(JSON.stringify(view))).toBeLessThan(3_000);
});

test("a view ends where it has become large, however many items are asked for, and shows at least one", async () => {
  const env = await startEnvironment();
  const messages = Array.from({ length: 100 }, (_, n) => ({ role: "user" as const, text: `${n} ${"m".repeat(15_000)}` }));
  const { threadId } = await env.send({
    type: "thread.import",
    import: { handoffId: "h", sourceEnvironmentId: "e", sourceThreadId: "t", messages },
  });
  const view = await viewOf(env, threadId);
  expect(itemsOf(view).length).toBeGreaterThan(10);
  expect(Buffer.byteLength(JSON.stringify(view))).toBeLessThan(300_000);
  expect(view.olderThan).toBe(itemsOf(view)[0]?.id);
  expect(itemsOf(await viewOf(env, threadId, 1))).toHaveLength(1);
});

test("a view that is read while much is written is of one commit all the same", async () => {
  const env = await startEnvironment();
  const id = await env.newThread();
  await env.say(id, "first");
  for (let round = 0; round < 10; round += 1) {
    const saying = env.say(id, `round ${round}`);
    const renaming = env.send({ type: "thread.rename", threadId: id, title: `title ${round}` });
    const view = await viewOf(env, id);
    // Messages of runs that it shows are there, and no items of others: each of its runs is as far as its items are.
    for (const turn of view.turns) {
      expect(turn.run).not.toBeUndefined();
      expect(turn.items?.[0]?.kind).toBe("user_message");
      if (turn.run?.status === "completed") expect(turn.items?.map(({ kind }) => kind)).toEqual(["user_message", "assistant_message"]);
    }
    await Promise.all([saying, renaming]);
  }
});

test("the environment's list is paged by the last thread, newest first, and leaves out what was deleted", async () => {
  const env = await startEnvironment();
  const ids: ThreadId[] = [];
  for (let n = 0; n < 12; n += 1) ids.push(await env.newThread({ title: `thread ${n}` }));
  await env.send({ type: "thread.delete", threadId: ids[5] as ThreadId });
  const whole = await environmentSnapshot(env, 1_000);
  expect(whole.threads.map(({ title }) => title)).toEqual([11, 10, 9, 8, 7, 6, 4, 3, 2, 1, 0].map((n) => `thread ${n}`));
  for (const limit of [1, 3, 11, 12]) {
    let view = await environmentSnapshot(env, limit);
    while (view.olderThan != null) view = withOlderThreads(view, await olderThreads(env, limit, view.olderThan as ThreadId));
    expect(view).toEqual(whole);
  }
});
