import { expect, test } from "vitest";
import type { RunId, TaskId, ThreadId } from "../../schemas/ids.ts";
import { startEnvironment, type TestEnvironment, until } from "../support/environments.ts";
import {
  expectEachConsumedOnce,
  familyScript,
  goOn,
  parentAtWork,
  resultsFor,
  spawnAsAgent,
  taskEnded,
  timesTold,
} from "../support/families.ts";
import { killedEnvironment } from "../support/killed-environment.ts";

const start = (more = {}) => startEnvironment({ scripts: { p1: familyScript }, ...more });
const range = (count: number) => Array.from({ length: count }, (_, i) => i);
/** The run that the environment itself started in a thread, once it has ended. */
async function wakeOf(env: TestEnvironment, threadId: ThreadId) {
  return until(() => env.threads.runs(threadId).find((run) => run.createdBy === "system" && run.endedAt !== null), "the wake");
}

test("S01 results of 19 children that end while their parent is at work are each told once, in its next run", async () => {
  const env = await start();
  const parent = await parentAtWork(env);
  const tasks = await Promise.all(range(19).map((i) => spawnAsAgent(env, parent, `part ${i}`, { title: `part ${i}` })));
  for (const { taskId } of tasks) expect((await taskEnded(env, taskId)).status).toBe("completed");
  expect(env.runs.get(parent.runId)?.status).toBe("waiting");
  expect(resultsFor(env, parent.threadId).map((t) => t.status)).toEqual(range(19).map(() => "pending"));

  await goOn(env, parent);
  const wake = await wakeOf(env, parent.threadId);
  const results = resultsFor(env, parent.threadId);
  expect(results).toHaveLength(19);
  expectEachConsumedOnce(env, results);
  expect(new Set(results.map((t) => t.consumedByRunId))).toEqual(new Set([wake.id]));
  expect(timesTold(env, parent.threadId)).toEqual(new Map(range(19).map((i) => [`part ${i}`, 1])));
});

test("S02 188 results over many turns of a parent, some of them cut off, each arrive exactly once", async () => {
  let env = await start();
  const parent = await env.newThread();
  const spawned: { taskId: TaskId; title: string }[] = [];
  const spawn = async (count: number) => {
    const from = spawned.length;
    const batch = await Promise.all(
      range(count).map(async (i) => {
        const title = `part ${from + i}`;
        const prompt = i % 7 === 3 ? `${title}: break down` : title;
        const { taskId } = await env.send({ type: "task.spawn", parentThreadId: parent, prompt, title });
        return { taskId, title };
      }),
    );
    spawned.push(...batch);
    return batch;
  };
  const cutOff = async (text: string, when: (runId: RunId) => boolean) => {
    const { runId } = await env.send({ type: "thread.send", threadId: parent, text });
    await until(() => when(runId), `${text} is under way`);
    await env.send({ type: "thread.interrupt", threadId: parent, runId, children: "keep" });
    expect((await env.ended(runId)).status).toBe("interrupted");
  };
  const status = (runId: RunId) => env.runs.get(runId)?.status;

  await spawn(40);
  await env.say(parent, "first");
  await spawn(40);
  // Told to nobody: it is stopped before the provider has taken it.
  await cutOff("slow to accept", (id) => status(id) === "starting");
  const some = await spawn(40);
  expect((await env.say(parent, "turn it away")).status).toBe("failed");
  // Told, though the turn comes to no good end.
  await cutOff("hang", (id) => status(id) === "running");
  await taskEnded(env, some[0]?.taskId as TaskId);
  await cutOff("slow to accept", (id) => status(id) === "starting");
  await spawn(40);
  await env.say(parent, "third");
  const last = await spawn(28);
  for (const { taskId } of last) await taskEnded(env, taskId);
  env = await env.restart();
  for (const { taskId } of spawned) await taskEnded(env, taskId);
  await env.say(parent, "last");

  const results = resultsFor(env, parent);
  expect(results).toHaveLength(188);
  expectEachConsumedOnce(env, results);
  expect(new Set(results.map((t) => t.taskId))).toEqual(new Set(spawned.map((s) => s.taskId)));
  expect(new Set(results.map((t) => t.consumedByRunId)).size).toBeGreaterThan(2);
  expect(timesTold(env, parent)).toEqual(new Map(spawned.map((s) => [s.title, 1])));
});

test("S03 a child that runs twice gives two results, and the second changes nothing of the first", async () => {
  const env = await start();
  const parent = await env.newThread();
  const { taskId, childThreadId } = await env.send({ type: "task.spawn", parentThreadId: parent, prompt: "first" });
  await taskEnded(env, taskId);
  const [first] = resultsFor(env, parent);
  expect((await env.say(childThreadId as ThreadId, "break down")).status).toBe("failed");

  const results = resultsFor(env, parent);
  expect(results).toHaveLength(2);
  expect(results[0]).toEqual(first);
  expect(results[1]).toMatchObject({ taskId, outcome: { ending: "failed" }, content: { text: "I got this far." } });
  expect(env.tasks.get(taskId)).toMatchObject({ status: "completed", results: 2 });
  await env.say(parent, "what came of it?");
  expect(env.inputs().at(-1)?.context).toEqual([expect.stringContaining("ok: first"), expect.stringContaining("I got this far.")]);
});

test("S04 a silent, a failed and a cancelled child each tell their parent so, under a status of their own", async () => {
  const env = await start();
  const parent = await env.newThread();
  const spawn = (prompt: string, title: string) => env.send({ type: "task.spawn", parentThreadId: parent, prompt, title });
  const silent = await spawn("say nothing", "silent");
  const broken = await spawn("break down", "broken");
  const away = await spawn("turn it away", "away");
  const stopped = await spawn("hang", "stopped");
  await until(() => env.tasks.get(stopped.taskId)?.status === "running", "the child runs");
  await env.send({ type: "task.cancel", taskId: stopped.taskId });

  const status = async (taskId: TaskId) => (await taskEnded(env, taskId)).status;
  expect(await status(silent.taskId)).toBe("completed");
  expect(await status(broken.taskId)).toBe("failed");
  expect(await status(away.taskId)).toBe("failed");
  expect(await status(stopped.taskId)).toBe("cancelled");
  expect(resultsFor(env, parent)).toHaveLength(4);
  await env.say(parent, "what came of it?");
  expectEachConsumedOnce(env, resultsFor(env, parent));
  const told = env.inputs().at(-1)?.context ?? [];
  expect(told.toSorted()).toEqual([
    'Result of the task "away": failed. Reason: not now It gave no text.',
    'Result of the task "broken": failed. Reason: the tool broke\n\nI got this far.',
    'Result of the task "silent": completed. It gave no text.',
    'Result of the task "stopped": cancelled. It gave no text.',
  ]);
});

test("S05 three children that end during one run of their parent start one run of it, which names the three", async () => {
  const env = await start();
  const parent = await parentAtWork(env);
  const titles = ["roof", "walls", "floor"];
  const tasks = await Promise.all(titles.map((title) => spawnAsAgent(env, parent, `look at the ${title}`, { title })));
  for (const { taskId } of tasks) await taskEnded(env, taskId);
  await goOn(env, parent);
  const wake = await wakeOf(env, parent.threadId);
  await until(() => env.threads.get(parent.threadId)?.status === "idle", "the parent is idle again");
  expect(env.threads.runs(parent.threadId).map((r) => r.createdBy)).toEqual(["user", "system"]);
  expect(wake.status).toBe("completed");
  const input = env.inputs().at(-1);
  for (const title of titles) expect(input?.message).toContain(`"${title}"`);
  expect(input?.context).toHaveLength(3);
});

test("S05 results of children that a person spawned wait for the person's next message", async () => {
  const env = await start();
  const parent = await env.newThread();
  const { taskId } = await env.send({ type: "task.spawn", parentThreadId: parent, prompt: "look" });
  await taskEnded(env, taskId);
  await env.say(await env.newThread(), "anything else");
  expect(env.threads.runs(parent)).toEqual([]);
  expect(resultsFor(env, parent).map((t) => t.status)).toEqual(["pending"]);
});

test("S06 the same spawn again is the same child, and a wait that runs out of time cancels nothing", async () => {
  const env = await start();
  const parent = await env.newThread();
  const command = { type: "task.spawn", parentThreadId: parent, prompt: "wait for me" } as const;
  const id = "cmd:a-client:spawn-1" as never;
  const first = await env.send(command, { id });
  const waited = await env.tasks.wait(first.taskId, { timeoutMs: 50 });
  expect(waited?.endedAt).toBeNull();

  const again = await env.dispatch(command, { id });
  expect(again).toMatchObject({ ok: true, repeated: true, result: first });
  expect(env.tasks.list({ parent })).toHaveLength(1);
  expect(env.threads.list({ parent })).toHaveLength(1);
  expect(await env.dispatch({ ...command, prompt: "something else" }, { id })).toMatchObject({
    ok: false,
    refusal: { code: "idempotency_conflict" },
  });

  const child = { threadId: first.childThreadId as ThreadId, runId: first.runId as RunId };
  await until(() => env.runs.get(child.runId)?.status === "waiting", "the child still runs");
  await goOn(env, child);
  expect((await taskEnded(env, first.taskId)).status).toBe("completed");
  expect(env.inputs().filter((i) => i.threadId === child.threadId)).toHaveLength(1);
});

test.each(["after commit run.accepted*", "before effect provider.start", "after effect provider.start"])(
  "S07 a child whose environment is killed %s is settled at the next start, with exactly one result",
  async (killAt) => {
    const env = await start();
    const { dir } = env;
    const parent = await env.newThread();
    await env.close();
    await killedEnvironment({ dir, commands: [{ command: { type: "task.spawn", parentThreadId: parent, prompt: "hang" } }], killAt });

    const after = await start({ dir });
    const [task] = after.tasks.list({ parent });
    const child = task?.childThreadId as ThreadId;
    if (after.threads.runs(child)[0]?.endedAt === null) {
      // The provider had certainly not been given the task: it runs now, and is stopped like any other.
      await until(() => after.threads.runs(child)[0]?.status === "running", "the child runs");
      expect(after.inputs()).toHaveLength(1);
      await after.send({ type: "task.cancel", taskId: task?.id as TaskId });
    }
    const ended = await taskEnded(after, task?.id as TaskId);
    expect(["interrupted", "cancelled"]).toContain(ended.status);
    expect(after.threads.runs(child).map((r) => r.status)).toEqual(["interrupted"]);
    expect(resultsFor(after, parent)).toMatchObject([{ taskId: task?.id, outcome: { ending: ended.status } }]);
    const again = await after.restart();
    expect(resultsFor(again, parent)).toHaveLength(1);
    await again.say(parent, "what came of it?");
    expectEachConsumedOnce(again, resultsFor(again, parent));
    expect(timesTold(again, parent)).toEqual(new Map([["hang", 1]]));
  },
);

test("S08 a spawn answers at once while the provider's open hangs; the child is seen starting and can be cancelled", async () => {
  const env = await start({ scripts: { p1: familyScript, stuck: { openHang: true } } });
  const parent = await env.newThread();
  const before = Date.now();
  const spawned = await env.send({
    type: "task.spawn",
    parentThreadId: parent,
    prompt: "look",
    provider: { instance: "stuck", model: null },
  });
  expect(Date.now() - before).toBeLessThan(1_000);
  await until(() => env.runs.get(spawned.runId as RunId)?.status === "starting", "the child is starting");
  expect(env.tasks.get(spawned.taskId)?.status).toBe("starting");

  await env.send({ type: "task.cancel", taskId: spawned.taskId });
  expect((await taskEnded(env, spawned.taskId)).status).toBe("cancelled");
  expect(env.runs.get(spawned.runId as RunId)?.status).toBe("interrupted");
  expect(resultsFor(env, parent)).toMatchObject([{ outcome: { ending: "cancelled" } }]);
  expect(await env.dispatch({ type: "task.cancel", taskId: spawned.taskId })).toMatchObject({
    ok: false,
    refusal: { code: "task_not_cancellable" },
  });
});

test("S10 a child's first input is exactly its task, however much its parent knows", async () => {
  const env = await start();
  const parent = await env.newThread();
  await env.say(parent, "the codeword is heliotrope");
  const plain = await env.send({ type: "task.spawn", parentThreadId: parent, prompt: "name\n  the codeword " });
  await taskEnded(env, plain.taskId);
  const first = env.inputs().find((i) => i.threadId === plain.childThreadId);
  expect(first).toMatchObject({ opened: "new", turn: 1, context: [], message: "name\n  the codeword ", full: "name\n  the codeword " });
  const [spawn] = env.transfers.list({ target: plain.childThreadId as ThreadId });
  expect(spawn).toMatchObject({ type: "subagent_spawn", status: "consumed", resolution: { kind: "portable_context" } });
  expect(env.transfers.handoffsOf(spawn?.id as never)).toMatchObject([{ payload: "name\n  the codeword " }]);

  const handed = await env.send({ type: "task.spawn", parentThreadId: parent, prompt: "name it", handedOver: "it is a flower" });
  await taskEnded(env, handed.taskId);
  const second = env.inputs().find((i) => i.threadId === handed.childThreadId);
  expect(second?.full).toContain("it is a flower");
  expect(second?.full).toContain("name it");
  expect(second?.full).not.toContain("heliotrope");
});
