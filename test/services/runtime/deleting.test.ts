import { expect, test } from "vitest";
import type { RunId, ThreadId } from "../../../schemas/ids.ts";
import { isEndedRun } from "../../../schemas/run.ts";
import { startEnvironment, type TestEnvironment, until } from "../../support/environments.ts";
import { beAtWork, resultsFor, taskEnded } from "../../support/families.ts";
import { killedEnvironment } from "../../support/killed-environment.ts";

const script = {
  rules: [
    { match: { contains: "wait for me" }, steps: [{ ask: { text: "go on?" } }, { text: "went on" }] },
    { match: { contains: "hang" }, steps: [{ hang: true }] },
    { match: { contains: "codeword?" }, steps: [{ recall: "KINGFISHER-\\w+" }] },
  ],
};
const codeword = "KINGFISHER-17C0";
const start = () => startEnvironment({ scripts: { p1: script, p2: script } });

type Relation = "fork" | "child";
const orders = [
  ["P", "C", "G"],
  ["P", "G", "C"],
  ["C", "P", "G"],
  ["C", "G", "P"],
  ["G", "P", "C"],
  ["G", "C", "P"],
] as const;
const states = ["idle", "running", "waiting", "queued"] as const;

/** Brings a thread into a state; its runs that are under way. */
async function bring(env: TestEnvironment, threadId: ThreadId, state: (typeof states)[number]): Promise<RunId[]> {
  if (state === "idle") return [];
  if (state === "waiting") return [(await beAtWork(env, threadId)).runId];
  const { runId } = await env.send({ type: "thread.send", threadId, text: "hang" });
  await until(() => env.runs.get(runId)?.status === "running", "it runs");
  if (state === "running") return [runId];
  const queued = await env.send({ type: "thread.send", threadId, text: "hang, behind", delivery: "queue" });
  return [runId, queued.runId];
}

async function below(env: TestEnvironment, parent: ThreadId, relation: Relation): Promise<ThreadId> {
  if (relation === "fork") return (await env.send({ type: "thread.fork", threadId: parent, at: { kind: "latest_stable" } })).threadId;
  const { taskId, childThreadId } = await env.send({ type: "task.spawn", parentThreadId: parent, prompt: "hello" });
  await taskEnded(env, taskId);
  return childThreadId as ThreadId;
}

/** Nobody takes turns any more in what was deleted, and what was not can be read. */
async function settled(env: TestEnvironment, deleted: readonly ThreadId[], left: readonly ThreadId[]): Promise<void> {
  for (const threadId of deleted)
    await until(
      () => env.threads.get(threadId)?.activeRunId === null && env.threads.runs(threadId).every((run) => isEndedRun(run.status)),
      "what was deleted comes to rest",
    );
  const listed = env.threads.list().map((thread) => thread.id);
  expect([...left].filter((id) => !listed.includes(id))).toEqual([]);
  for (const threadId of left) expect(env.threads.items(threadId).length).toBeGreaterThan(0);
}

const chains: readonly [Relation, Relation][] = [
  ["fork", "fork"],
  ["child", "child"],
  ["fork", "child"],
  ["child", "fork"],
];

for (const [second, third] of chains)
  test(`P > C (${second}) > G (${third}) deleted in every order, idle, running, waiting and queued: nothing runs on, nothing is unreachable`, {
    timeout: 120_000,
  }, async () => {
    const env = await start();
    for (const order of orders)
      for (const state of states) {
        const P = await env.newThread();
        await env.say(P, `The codeword is ${codeword}.`);
        const C = await below(env, P, second);
        const G = await below(env, C, third);
        const family = { P, C, G };
        const open: RunId[] = [];
        for (const id of [P, C, G]) open.push(...(await bring(env, id, state)));
        const deleted: ThreadId[] = [];
        for (const name of order) {
          const receipt = await env.dispatch({ type: "thread.delete", threadId: family[name], keepForks: true, stop: true });
          expect(receipt).toMatchObject({ ok: true });
          deleted.push(family[name]);
          await settled(
            env,
            deleted,
            Object.values(family).filter((id) => !deleted.includes(id)),
          );
        }
        for (const runId of open) expect(isEndedRun(env.runs.get(runId)?.status ?? "running")).toBe(true);
        expect(env.tasks.list({ open: true })).toEqual([]);
      }
    expect(env.health().effectsSetAside).toEqual([]);
  });

test("a fork's source is deleted only when somebody says so, with one dependent named; the fork then still answers the codeword", async () => {
  const env = await start();
  const source = await env.newThread();
  await env.say(source, `The codeword is ${codeword}.`);
  const fork = await below(env, source, "fork");
  const refused = await env.dispatch({ type: "thread.delete", threadId: source });
  expect(refused).toMatchObject({
    ok: false,
    refusal: { reason: "has_forks", message: "1 fork shows its history", details: { forks: [fork] } },
  });
  expect(await env.send({ type: "thread.delete", threadId: source, keepForks: true })).toMatchObject({ keptFor: [fork] });
  for (const provider of ["p1", "p2"]) {
    await env.say(fork, "What is the codeword?", { provider: { instance: provider, model: null } });
    expect(JSON.stringify(env.threads.items(fork, { newestFirst: true, limit: 1 }))).toContain(codeword);
  }
});

test("a fork of a deleted fork is a dependent of what it shows, and of nothing that it does not", async () => {
  const env = await start();
  const source = await env.newThread();
  await env.say(source, `The codeword is ${codeword}.`);
  const between = await below(env, source, "fork");
  const last = await below(env, between, "fork");
  // What the last one shows is the source's alone.
  expect(await env.send({ type: "thread.delete", threadId: between })).toMatchObject({ keptFor: [] });
  expect(await env.dispatch({ type: "thread.delete", threadId: source })).toMatchObject({
    ok: false,
    refusal: { reason: "has_forks", details: { forks: [last] } },
  });
  await env.send({ type: "thread.delete", threadId: source, keepForks: true });
  await env.say(last, "What is the codeword?");
  expect(JSON.stringify(env.threads.items(last, { newestFirst: true, limit: 1 }))).toContain(codeword);
});

test("without --stop a thread is not deleted while it runs or while its subagents do, and the refusal says how", async () => {
  const env = await start();
  const parent = await env.newThread();
  await env.say(parent, "hello");
  const { taskId, childThreadId } = await env.send({ type: "task.spawn", parentThreadId: parent, prompt: "hang" });
  expect(await env.dispatch({ type: "thread.delete", threadId: parent })).toMatchObject({
    ok: false,
    refusal: { reason: "open_tasks", hint: expect.stringContaining("--stop") },
  });
  expect(await env.dispatch({ type: "thread.delete", threadId: childThreadId })).toMatchObject({
    ok: false,
    refusal: { reason: "thread_running", hint: expect.stringContaining("--stop") },
  });
  expect(env.tasks.get(taskId)?.endedAt).toBeNull();
});

test("a parent whose child was deleted learns it exactly once: its task ends, and the result says why", async () => {
  const env = await start();
  const parent = await env.newThread();
  await env.say(parent, "hello");
  for (const state of ["hang", "wait for me"]) {
    const { taskId, childThreadId, runId } = await env.send({ type: "task.spawn", parentThreadId: parent, prompt: state });
    await until(() => ["running", "waiting"].includes(env.runs.get(runId as RunId)?.status ?? ""), "the child is at work");
    await env.send({ type: "thread.delete", threadId: childThreadId as ThreadId, stop: true });
    expect(await taskEnded(env, taskId)).toMatchObject({ status: "interrupted", error: { reason: "thread_deleted" }, results: 1 });
    const results = resultsFor(env, parent).filter((result) => result.taskId === taskId);
    expect(results).toMatchObject([{ status: "pending", outcome: { ending: "interrupted", error: { reason: "thread_deleted" } } }]);
  }
  const told = await env.say(parent, "and?");
  expect(resultsFor(env, parent).map((result) => result.consumedByRunId)).toEqual([told.id, told.id]);
  expect(env.inputs().at(-1)?.context.join("\n")).toContain("the subagent's thread was deleted");
});

test("a parent that an agent's results would wake is not woken by the deletion that ends its children", async () => {
  const env = await start();
  const parent = await env.newThread();
  const work = await beAtWork(env, parent);
  const caller = { kind: "thread", threadId: parent, runId: work.runId } as const;
  const spawned = await env.send({ type: "task.spawn", parentThreadId: parent, prompt: "hang" }, { caller });
  await until(() => env.runs.get(spawned.runId as RunId)?.status === "running", "the child runs");
  const inputs = env.inputs().length;
  expect(await env.send({ type: "thread.delete", threadId: parent, stop: true })).toMatchObject({
    runIds: [work.runId],
    cancelledTasks: [spawned.taskId],
  });
  expect(await taskEnded(env, spawned.taskId)).toMatchObject({ status: "cancelled" });
  await settled(env, [parent], [spawned.childThreadId as ThreadId]);
  expect(env.inputs()).toHaveLength(inputs);
  // The child is there: it can be read, and gone on with.
  await env.say(spawned.childThreadId as ThreadId, "hello");
});

test("a thread that was deleted in the middle of a run is at rest, and its parent told, after the process was killed there", async () => {
  const env = await start();
  const parent = await env.newThread();
  await env.say(parent, "hello");
  const { taskId, childThreadId } = await env.send({ type: "task.spawn", parentThreadId: parent, prompt: "hello" });
  const child = childThreadId as ThreadId;
  await taskEnded(env, taskId);
  await env.close();
  await killedEnvironment({
    dir: env.dir,
    commands: [
      { command: { type: "thread.send", threadId: child, text: "hang" } },
      { until: "running", newestRunOf: child },
      { command: { type: "thread.delete", threadId: child, stop: true } },
    ],
    killAt: "before effect provider.interrupt",
  });
  const again = await env.restart();
  await settled(again, [child], [parent]);
  expect(again.tasks.get(taskId)).toMatchObject({ status: "completed", results: 2 });
});
