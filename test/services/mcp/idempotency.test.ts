import { expect, test } from "vitest";
import type { ThreadId } from "../../../schemas/ids.ts";
import { tools } from "../../../services/mcp/catalogue.ts";
import { until } from "../../support/environments.ts";
import { clientCaller, type Loose, linkToNobody, nobody, type Rig, serveMcp, startMcp } from "./rig.ts";

/** A thread at work, another that has done something, a fork with a run of its own, and an open task. */
async function world(rig: Rig) {
  const { env } = rig;
  const idle = await env.newThread();
  await env.say(idle, "hello");
  const { threadId: fork } = await env.send({ type: "thread.fork", threadId: idle, at: { kind: "latest_stable" } });
  await env.say(fork, "aside");
  const busy = await env.newThread();
  const { runId } = await env.send({ type: "thread.send", threadId: busy, text: "hang" });
  await until(() => env.runs.get(runId)?.status === "running");
  const { taskId } = await env.send({ type: "task.spawn", parentThreadId: idle, prompt: "hang" });
  return { idle, fork, busy, taskId };
}
type World = Awaited<ReturnType<typeof world>>;

/** What each tool that changes something is called with, and a change of it. */
const mutations: Record<string, (w: World) => { args: object; other: object }> = {
  t3_thread_launch: () => ({ args: { prompt: "one" }, other: { prompt: "another" } }),
  t3_thread_send: ({ idle }) => ({ args: { threadId: idle, text: "one" }, other: { threadId: idle, text: "another" } }),
  t3_thread_fork: ({ idle }) => ({ args: { threadId: idle }, other: { threadId: idle, title: "another" } }),
  t3_thread_merge_back: ({ fork, idle }) => ({ args: { threadId: fork }, other: { threadId: idle } }),
  t3_thread_interrupt: ({ busy }) => ({ args: { threadId: busy }, other: { threadId: busy, reason: "another" } }),
  t3_thread_move: ({ fork }) => ({
    args: { threadId: fork, environmentId: nobody },
    other: { threadId: fork, environmentId: nobody, continuationPrompt: "another" },
  }),
  delegate_task: ({ idle }) => ({ args: { parentThreadId: idle, prompt: "one" }, other: { parentThreadId: idle, prompt: "another" } }),
  task_cancel: ({ taskId }) => ({ args: { taskId }, other: { taskId, reason: "another" } }),
};

test("every tool that changes something takes a request id, an import its handoff id", () => {
  const changing = tools.filter((tool) => tool.access !== "reads" && tool.name !== "t3_thread_import");
  expect(changing.map((tool) => tool.name).sort()).toEqual(Object.keys(mutations).sort());
  for (const tool of changing) expect(tool.input.shape, tool.name).toHaveProperty("clientRequestId");
  expect(tools.find((tool) => tool.name === "t3_thread_import")?.input.shape).toHaveProperty("handoffId");
});

const script = { rules: [{ match: { contains: "hang" }, steps: [{ hang: true }] }] };

test.each(Object.keys(mutations))("%s: a repeat returns the stored receipt before any check that time may have changed", async (name) => {
  const rig = await startMcp({ scripts: { p1: script }, config: { links: [linkToNobody([])] } as never });
  const client = await rig.connect(rig.let(clientCaller()));
  const w = await world(rig);
  const { args, other } = mutations[name]!(w);
  const clientRequestId = "the same";
  expect(await client.refused(name, { ...args, clientRequestId })).toMatchObject({ code: "invalid_request", reason: "malformed" });
  const id = "the-same";
  const first = await client.use(name, { ...args, clientRequestId: id });
  expect(first).toMatchObject({ repeated: false });
  // Whatever it named is now gone or ended; only the receipt knows that it was done.
  await settle(rig, w);
  const before = rig.env.lastCommit;
  expect(await client.use(name, { ...args, clientRequestId: id })).toEqual({ ...first, repeated: true });
  expect(rig.env.lastCommit).toBe(before);
  expect(await client.refused(name, { ...other, clientRequestId: id })).toMatchObject({ code: "idempotency_conflict" });
});

/** Ends and deletes everything that there is. */
async function settle({ env }: Rig, { busy }: World) {
  for (const task of env.tasks.list({ open: true })) await env.dispatch({ type: "task.cancel", taskId: task.id });
  await env.dispatch({ type: "thread.interrupt", threadId: busy });
  await until(() => env.tasks.list({ open: true }).length === 0 && env.threads.list().every((t) => t.activeRunId === null));
  const order = (id: ThreadId) => (env.threads.get(id)?.lineage.parentThreadId === null ? 1 : 0);
  for (const { id } of env.threads.list().sort((a, b) => order(a.id) - order(b.id))) {
    await env.dispatch({ type: "thread.move_cancel", threadId: id });
    await env.send({ type: "thread.delete", threadId: id, keepForks: true });
  }
}

test("two callers do not meet under one request id", async () => {
  const rig = await startMcp();
  const threadId = await rig.env.newThread();
  const one = await rig.connect(rig.let(clientCaller({ clientId: "client:one" as never })));
  const two = await rig.connect(rig.let(clientCaller({ clientId: "client:two" as never })));
  const agent = await rig.connect(rig.tokens.make({ threadId, instance: "p1" }));
  const answers = [];
  for (const caller of [one, two, agent])
    answers.push(await caller.use("t3_thread_send", { threadId, text: "hello", clientRequestId: "r1" }));
  expect(answers.map((answer) => answer.ordinal)).toEqual([1, 2, 3]);
});

test("a launch makes its thread and its run in one commit, so that no retry finds half of it", async () => {
  const rig = await startMcp();
  const client = await rig.connect(rig.let(clientCaller()));
  const launched = await client.use("t3_thread_launch", { prompt: "go on", clientRequestId: "r1" });
  const made = rig.env.changes(0, 1_000).filter((change) => change.type === "item" || change.event.endsWith(".created"));
  expect(made.filter(({ commit }) => commit === made[0]?.commit).map((change) => (change.type === "item" ? "item" : change.event))).toEqual(
    ["thread.created", "run.created", "item"],
  );
  expect(await client.use("t3_thread_launch", { prompt: "go on", clientRequestId: "r1" })).toEqual({ ...launched, repeated: true });
  expect(rig.env.threads.list()).toHaveLength(1);
});

test("a request id that comes many times at once, over both revisions, does its work once and is answered alike", async () => {
  const rig = await startMcp();
  const token = rig.let(clientCaller());
  const clients = [await rig.connect(token), await rig.connect(token, { era: "legacy" })];
  const calls = Array.from({ length: 12 }, (_, i) => clients[i % 2]!.use("t3_thread_launch", { prompt: "one", clientRequestId: "r1" }));
  const answers = await Promise.all(calls);
  expect(new Set(answers.map((answer) => `${answer.threadId} ${answer.runId}`)).size).toBe(1);
  expect(answers.filter((answer) => answer.repeated === false)).toHaveLength(1);
  expect(rig.env.threads.list()).toHaveLength(1);
  const others = Array.from({ length: 6 }, (_, i) =>
    clients[i % 2]!.callTool({ name: "t3_thread_launch", arguments: { prompt: `another ${i}`, clientRequestId: "r2" } }),
  );
  const verdicts = (await Promise.all(others)).map((answer) => (answer.structuredContent as Loose).error?.code ?? "launched");
  expect(verdicts.sort()).toEqual([...Array.from({ length: 5 }, () => "idempotency_conflict"), "launched"]);
});

test("a repeat is known after a restart", async () => {
  const rig = await startMcp();
  const client = await rig.connect(rig.let(clientCaller()));
  const first = await client.use("t3_thread_launch", { prompt: "one", clientRequestId: "r1" });
  const again = await serveMcp(await rig.env.restart());
  const later = await again.connect(again.let(clientCaller()), { era: "legacy" });
  expect(await later.use("t3_thread_launch", { prompt: "one", clientRequestId: "r1" })).toEqual({ ...first, repeated: true });
});
