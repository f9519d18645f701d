import { expect, test } from "vitest";
import type { RunId, TaskId, ThreadId } from "../../schemas/ids.ts";
import { startEnvironment, type TestEnvironment, until } from "../support/environments.ts";
import {
  asAgent,
  beAtWork,
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

/** A parent, its child and its grandchild, each of whose agents is at work. */
async function threeGenerations(env: TestEnvironment) {
  const parent = await parentAtWork(env);
  const child = await spawnAsAgent(env, parent, "wait for me");
  const c = { threadId: child.childThreadId as ThreadId, runId: child.runId as RunId };
  await until(() => env.runs.get(c.runId)?.status === "waiting", "the child is at work");
  const grandchild = await spawnAsAgent(env, c, "hang");
  const g = { threadId: grandchild.childThreadId as ThreadId, runId: grandchild.runId as RunId };
  await until(() => env.tasks.get(grandchild.taskId)?.status === "running", "the grandchild is at work");
  return { parent, c, g, child, grandchild };
}

test("S09 stopping a parent stops its child and grandchild, the deepest first, and nothing starts again by itself", async () => {
  const env = await start();
  const { parent, c, g, child, grandchild } = await threeGenerations(env);
  const stopped = await env.send({ type: "thread.interrupt", threadId: parent.threadId });
  expect(stopped.cancelledTasks).toEqual([grandchild.taskId, child.taskId]);
  expect((await taskEnded(env, grandchild.taskId)).status).toBe("cancelled");
  expect((await taskEnded(env, child.taskId)).status).toBe("cancelled");
  for (const runId of [parent.runId, c.runId, g.runId]) expect((await env.ended(runId)).status).toBe("interrupted");

  // One more commit than whatever a wake would have needed.
  await env.say(await env.newThread(), "anything else");
  await env.say(await env.newThread(), "anything else");
  for (const { threadId } of [parent, c, g]) expect(env.threads.runs(threadId)).toHaveLength(1);
  await env.say(parent.threadId, "what came of it?");
  expectEachConsumedOnce(env, resultsFor(env, parent.threadId));
  expect(env.inputs().at(-1)?.context).toEqual([expect.stringContaining("cancelled")]);
});

test("S09 stopping an idle parent's children does not set the parent to work", async () => {
  const env = await start();
  const { parent, child, grandchild } = await threeGenerations(env);
  await goOn(env, parent);
  await env.send({ type: "thread.interrupt", threadId: parent.threadId });
  expect((await taskEnded(env, grandchild.taskId)).status).toBe("cancelled");
  expect((await taskEnded(env, child.taskId)).status).toBe("cancelled");
  await env.say(await env.newThread(), "anything else");
  await env.say(await env.newThread(), "anything else");
  expect(env.threads.runs(parent.threadId)).toHaveLength(1);
});

test("S09 an agent whose run was told to stop cannot attach a child any more, nor can it when a later run is under way", async () => {
  const env = await startEnvironment({
    scripts: { p1: { rules: [{ match: { contains: "deaf" }, steps: [{ hang: true, ignoreInterrupt: true }] }, ...familyScript.rules] } },
    interruptMs: 300,
  });
  const threadId = await env.newThread();
  const { runId } = await env.send({ type: "thread.send", threadId, text: "deaf" });
  await until(() => env.runs.get(runId)?.status === "running", "it runs");
  await env.send({ type: "thread.interrupt", threadId });
  const late = () => env.dispatch({ type: "task.spawn", parentThreadId: threadId, prompt: "late" }, asAgent({ threadId, runId }));
  const refused = { ok: false, refusal: { code: "parent_not_active" } };
  expect(env.runs.get(runId)?.status).toBe("interrupting");
  expect(await late()).toMatchObject(refused);
  expect((await env.ended(runId)).status).toBe("interrupted");
  expect(await late()).toMatchObject(refused);
  await beAtWork(env, threadId);
  expect(await late()).toMatchObject(refused);
  expect(env.tasks.list({ parent: threadId })).toEqual([]);
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

test("S11 children that spawn children are refused at the limit of depth, with nothing written", async () => {
  const env = await start();
  let at = await parentAtWork(env);
  for (const depth of [1, 2, 3]) {
    const { taskId, childThreadId, runId } = await spawnAsAgent(env, at, "wait for me");
    expect(env.tasks.get(taskId)?.depth).toBe(depth);
    at = { threadId: childThreadId as ThreadId, runId: runId as RunId };
    await until(() => env.runs.get(at.runId)?.status === "waiting", "it is at work");
  }
  const counts = env.health().counts;
  const refused = { ok: false, refusal: { code: "invalid_request", reason: "limit_exceeded", message: expect.stringContaining("3 deep") } };
  const spawn = (parentThreadId: ThreadId) => ({ type: "task.spawn", parentThreadId, prompt: "deeper" });
  expect(await env.dispatch(spawn(at.threadId), asAgent(at))).toMatchObject(refused);
  expect(env.health().counts).toEqual(counts);
  expect(env.threads.items(at.threadId).map((i) => i.body.kind)).not.toContain("subagent");
  // A fork is no way around it.
  await goOn(env, at);
  const fork = await env.send({ type: "thread.fork", threadId: at.threadId, at: { kind: "latest_stable" } });
  expect(await env.dispatch(spawn(fork.threadId))).toMatchObject(refused);
});

test("S11 open children of a whole tree are counted, forks included, and the one too many is refused until one has ended", async () => {
  const env = await start({ config: { limits: { taskOpenChildren: 3 } } });
  const parent = await parentAtWork(env);
  const first = await spawnAsAgent(env, parent, "wait for me");
  const child = { threadId: first.childThreadId as ThreadId, runId: first.runId as RunId };
  await until(() => env.runs.get(child.runId)?.status === "waiting", "the child is at work");
  await spawnAsAgent(env, child, "hang");
  await goOn(env, parent);
  const fork = await env.send({ type: "thread.fork", threadId: parent.threadId, at: { kind: "latest_stable" } });
  const third = await env.send({ type: "task.spawn", parentThreadId: fork.threadId, prompt: "hang" });

  const refused = {
    ok: false,
    refusal: { code: "invalid_request", reason: "limit_exceeded", message: expect.stringContaining("limit is 3") },
  };
  const more = () => env.dispatch({ type: "task.spawn", parentThreadId: parent.threadId, prompt: "one more" });
  expect(await more()).toMatchObject(refused);
  expect(await env.dispatch({ type: "task.spawn", parentThreadId: child.threadId, prompt: "one more" }, asAgent(child))).toMatchObject(
    refused,
  );
  // Another tree has its own count.
  expect(await env.dispatch({ type: "task.spawn", parentThreadId: await env.newThread(), prompt: "elsewhere" })).toMatchObject({
    ok: true,
  });
  await env.send({ type: "task.cancel", taskId: third.taskId });
  await taskEnded(env, third.taskId);
  expect(await more()).toMatchObject({ ok: true });
});

test("S11 spawns that come together do not slip past the limit", async () => {
  const env = await start({ config: { limits: { taskOpenChildren: 5 } } });
  const parent = await env.newThread();
  const answers = await Promise.all(range(9).map(() => env.dispatch({ type: "task.spawn", parentThreadId: parent, prompt: "hang" })));
  expect(answers.filter((a) => a.ok)).toHaveLength(5);
  expect(env.tasks.list({ parent, open: true })).toHaveLength(5);
});

test("a child never has broader modes than its parent, nor than the run that spawned it", async () => {
  const env = await start();
  const threadId = await env.newThread({ runtimeMode: "auto" });
  const { runId } = await env.send({
    type: "thread.send",
    threadId,
    text: "wait for me",
    runtimeMode: "approval-required",
    interactionMode: "plan",
  });
  await until(() => env.runs.get(runId)?.status === "waiting", "it is at work");
  const parent = { threadId, runId };
  const child = await spawnAsAgent(env, parent, "look");
  expect(env.threads.get(child.childThreadId as ThreadId)?.modes).toEqual({ runtimeMode: "approval-required", interactionMode: "plan" });
  const broader = { type: "task.spawn", parentThreadId: threadId, prompt: "look" };
  expect(await env.dispatch({ ...broader, runtimeMode: "auto-accept-edits" }, asAgent(parent))).toMatchObject({
    ok: false,
    refusal: { code: "runtime_mode_escalation_denied" },
  });
  expect(await env.dispatch({ ...broader, interactionMode: "default" }, asAgent(parent))).toMatchObject({
    ok: false,
    refusal: { code: "interaction_mode_escalation_denied" },
  });
  expect(await env.dispatch({ ...broader, runtimeMode: "full-access" })).toMatchObject({
    ok: false,
    refusal: { code: "runtime_mode_escalation_denied" },
  });
  expect(env.tasks.list({ parent: threadId })).toHaveLength(1);
});
