import { expect, test } from "vitest";
import type { Need } from "../../../schemas/need.ts";
import { startEnvironment, type TestEnvironment, until } from "../../support/environments.ts";
import { linkedPair, memoryFabric } from "../../support/linked.ts";
import { recalls } from "../../support/reading.ts";

const failing = (reason: string) => ({ steps: [{ fail: { reason, message: `it says ${reason}` } }] });
const script = {
  capabilities: { refuseFork: true },
  rules: [
    { match: { contains: "may I" }, steps: [{ approval: { text: "rm -rf build" } }, { text: "done" }] },
    { match: { contains: "which" }, steps: [{ ask: { text: "Which colour?" } }, { text: "thanks" }] },
    { match: { contains: "limit" }, ...failing("usage_limit"), times: 1 },
    { match: { contains: "log in" }, ...failing("login_required"), times: 1 },
    { match: { contains: "fail" }, ...failing("provider_failed"), times: 1 },
    recalls("codeword", "CW-\\w+"),
  ],
};

const start = () => startEnvironment({ scripts: { p1: script } });
const told = (needs: Need[]) => needs.map(({ kind, title, why }) => `${kind} ${title}: ${why}`);

async function threadWith(env: TestEnvironment, title: string, text: string) {
  const threadId = await env.newThread({ title });
  const { runId } = await env.send({ type: "thread.send", threadId, text });
  await env.runs.wait(runId, { until: "ended_or_waiting" });
  return { threadId, runId };
}

test("what an agent asks is in the list until it is answered, with what it asks and since when", async () => {
  const env = await start();
  const [asks, wonders] = [await threadWith(env, "asks", "may I?"), await threadWith(env, "wonders", "which one?")];
  const needs = await env.needs();
  expect(needs).toMatchObject([
    { kind: "approval", about: asks.runId, threadId: asks.threadId, title: "asks", why: "rm -rf build", act: ["ok", asks.runId] },
    { kind: "question", about: wonders.runId, title: "wonders", why: "Which colour?", act: ["answer", wonders.runId, "TEXT"] },
  ]);
  const [run] = env.threads.runs(asks.threadId);
  expect(needs[0]?.since).toBeGreaterThanOrEqual(run?.createdAt ?? Number.POSITIVE_INFINITY);
  const requestId = run?.openRequests[0]?.requestId ?? "";
  await env.send({ type: "run.answer", runId: asks.runId, requestId, answer: "accept" });
  await env.ended(asks.runId);
  expect((await env.needs()).map((n) => n.kind)).toEqual(["question"]);
});

test("a failed run is in the list once, by why it failed, until the thread goes on or somebody has seen it", async () => {
  const env = await start();
  const limited = await threadWith(env, "limited", "limit");
  await threadWith(env, "stranger", "log in");
  const broken = await threadWith(env, "broken", "fail");
  expect(told(await env.needs())).toEqual([
    "usage_limit limited: it says usage_limit The provider's script says so.",
    "login stranger: it says login_required The provider's script says so.",
    "failed_run broken: it says provider_failed The provider's script says so.",
  ]);
  await env.say(limited.threadId, "limit");
  await env.send({ type: "thread.mark", threadId: broken.threadId, mark: "read", on: true });
  expect((await env.needs()).map((n) => n.kind)).toEqual(["login"]);
});

test("what could not be told to a thread is one line, not two, and gone with the message that tells it", async () => {
  const env = await start();
  const source = await env.newThread();
  await env.say(source, "remember CW-blue");
  const { threadId, transferId } = await env.send({ type: "thread.fork", threadId: source, at: { kind: "latest_stable" } });
  await env.say(threadId, "codeword?");
  expect(await env.needs()).toMatchObject([{ kind: "failed_transfer", about: transferId, threadId, act: ["send", threadId, "--again"] }]);
  await env.say(threadId, "codeword?");
  expect(await env.needs()).toEqual([]);
});

test("an archived, snoozed or deleted thread asks for nobody", async () => {
  const env = await start();
  const threads = [await threadWith(env, "a", "limit"), await threadWith(env, "b", "log in"), await threadWith(env, "c", "fail")];
  expect(await env.needs()).toHaveLength(3);
  const [a, b, c] = threads.map((t) => t.threadId);
  if (a === undefined || b === undefined || c === undefined) throw new Error("no threads");
  await env.send({ type: "thread.mark", threadId: a, mark: "archived", on: true });
  await env.send({ type: "thread.mark", threadId: b, mark: "snoozed", on: true });
  await env.send({ type: "thread.delete", threadId: c });
  expect(await env.needs()).toEqual([]);
});

test("how an agent's own child failed is for its parent to hear", async () => {
  const env = await start();
  const parent = await threadWith(env, "parent", "may I?");
  const caller = { kind: "thread", threadId: parent.threadId, runId: parent.runId } as const;
  const { taskId } = await env.send({ type: "task.spawn", parentThreadId: parent.threadId, prompt: "fail" }, { caller });
  expect((await env.tasks.wait(taskId))?.status).toBe("failed");
  expect((await env.needs()).map((n) => n.kind)).toEqual(["approval"]);
});

test("a task for an environment that sleeps is in the list until that is back, or the task is cancelled", async () => {
  const { a, b } = await linkedPair(memoryFabric());
  await until(() => a.link(b).status === "online", "the link");
  const parentThreadId = await a.env.newThread({ title: "parent" });
  await b.stop();
  await a.stop();
  await a.start();
  const spawn = (prompt: string) => a.env.send({ type: "task.spawn", parentThreadId, prompt, title: prompt, environmentId: b.id });
  const [first, second] = [await spawn("one"), await spawn("two")];
  expect(await a.env.needs()).toMatchObject([
    { kind: "waiting_task", about: first.taskId, title: "one", act: ["task", "cancel", first.taskId] },
    { kind: "waiting_task", about: second.taskId },
  ]);
  await a.env.send({ type: "task.cancel", taskId: first.taskId });
  expect((await a.env.needs()).map((n) => n.about)).toEqual([second.taskId]);
  await b.start();
  await a.env.tasks.wait(second.taskId);
  expect(await a.env.needs()).toEqual([]);
});

test("three hundred failures are all in the list, longest first", async () => {
  const env = await startEnvironment({ scripts: { p1: { rules: [{ match: { contains: "fail" }, ...failing("x") }] } } });
  const count = 300;
  await Promise.all(Array.from({ length: count }, (_, i) => threadWith(env, `t${i}`, "fail")));
  const needs = await env.needs();
  expect(new Set(needs.map((n) => n.about)).size).toBe(count);
  expect(needs.map((n) => n.since)).toEqual(needs.map((n) => n.since).toSorted((x, y) => x - y));
});
