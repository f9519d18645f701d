import { expect, test } from "vitest";
import type { RunId, ThreadId } from "../../schemas/ids.ts";
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
} from "../support/families.ts";

const start = (more = {}) => startEnvironment({ scripts: { p1: familyScript }, ...more });
const range = (count: number) => Array.from({ length: count }, (_, i) => i);

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
