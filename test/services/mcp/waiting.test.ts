import { describe, expect, test } from "vitest";
import { maxWaitSeconds } from "../../../services/mcp/wait.ts";
import { until } from "../../support/environments.ts";
import { clientCaller, fresh, type Rig, startMcp } from "./rig.ts";

const script = {
  rules: [
    { match: { contains: "slow" }, steps: [{ delta: "tarring" }, { delay: 6_000 }, { text: " done" }] },
    { match: { contains: "hang" }, steps: [{ hang: true }] },
  ],
};

async function working(rig: Rig, text: string) {
  const threadId = await rig.env.newThread();
  const { runId } = await rig.env.send({ type: "thread.send", threadId, text });
  await until(() => rig.env.runs.get(runId)?.status === "running");
  return { threadId, runId };
}

describe.each(["legacy", "modern"] as const)("over the %s revision", (era) => {
  test("a wait is bounded, pins its run, tells of progress, and never cancels", async () => {
    const rig = await startMcp({ scripts: { p1: script } });
    const client = await rig.connect(rig.let(clientCaller()), { era });
    const { threadId, runId } = await working(rig, "slow");
    const started = performance.now();
    const first = await client.use("t3_thread_wait", { threadId, waitSeconds: 0.3 });
    expect(performance.now() - started).toBeLessThan(5_000);
    expect(first).toMatchObject({ runId, ended: false, status: "running", answer: null });
    // A newer message does not draw the wait away from the run that it was for.
    const newer = await rig.env.send({ type: "thread.send", threadId, text: "next" });
    const told: { progress: number; total?: number; message?: string }[] = [];
    const done = await client.use("t3_thread_wait", { threadId, runId, waitSeconds: 20 }, { onprogress: (news) => told.push(news) });
    expect(done).toMatchObject({ runId, ended: true, status: "completed", answer: "tarring done" });
    expect(newer.runId).not.toBe(runId);
    expect(told.length).toBeGreaterThan(0);
    expect(told[0]).toMatchObject({ total: 20, message: "running" });
    const amounts = told.map((news) => news.progress);
    expect(amounts).toEqual([...new Set(amounts)].sort((a, b) => a - b));
  });

  test("a call that is taken back stops waiting, and the work goes on", async () => {
    const rig = await startMcp({ scripts: { p1: script } });
    const client = await rig.connect(rig.let(clientCaller()), { era });
    const { threadId, runId } = await working(rig, "slow");
    const controller = new AbortController();
    const started = performance.now();
    const waiting = client.use("t3_thread_wait", { threadId, runId, waitSeconds: maxWaitSeconds }, { signal: controller.signal });
    setTimeout(() => controller.abort(), 200);
    await expect(waiting).rejects.toThrow();
    expect(performance.now() - started).toBeLessThan(4_000);
    expect(rig.env.runs.get(runId)).toMatchObject({ status: "running", interruptReason: null });
    expect((await rig.env.ended(runId)).status).toBe("completed");
    // The connection is as good as before.
    expect(await client.use("t3_thread_wait", { threadId, runId })).toMatchObject({ answer: "tarring done" });
    expect(rig.errors).toEqual([]);
  });
});

test("a wait beyond the bound is refused, and one without a run names what to do", async () => {
  const rig = await startMcp();
  const client = await rig.connect(rig.let(clientCaller()));
  const threadId = await rig.env.newThread();
  expect(await client.refused("t3_thread_wait", { threadId })).toMatchObject({ code: "run_not_found", reason: "no_run_yet" });
  expect(await client.refused("t3_thread_wait", { threadId, waitSeconds: maxWaitSeconds + 1 })).toMatchObject({ code: "invalid_request" });
  const other = await rig.env.newThread();
  const { id } = await rig.env.say(other, "hello");
  expect(await client.refused("t3_thread_wait", { threadId, runId: id })).toMatchObject({ code: "run_not_found", reason: "unknown_run" });
  expect(await client.use("t3_thread_wait", { threadId: other })).toMatchObject({ runId: id, ended: true });
});

test("waiting for a task is bounded and never cancels", async () => {
  const rig = await startMcp({ scripts: { p1: script } });
  const client = await rig.connect(rig.let(clientCaller()));
  const parentThreadId = await rig.env.newThread();
  const { taskId } = await client.use("delegate_task", { parentThreadId, prompt: "hang", clientRequestId: fresh() });
  expect(await client.use("task_status", { taskId, waitSeconds: 0.2 })).toMatchObject({ tasks: [{ ended: false, result: null }] });
  expect(rig.env.tasks.list({ open: true }).map((task) => task.id)).toEqual([taskId]);
});

test("what an agent is writing is shown to whoever waits for it", async () => {
  const rig = await startMcp({ scripts: { p1: script } });
  const client = await rig.connect(rig.let(clientCaller()));
  const { threadId, runId } = await working(rig, "slow");
  await until(() => rig.env.runs.progress(runId));
  expect(await client.use("t3_thread_wait", { threadId, waitSeconds: 0 })).toMatchObject({ unfinished: "tarring" });
});
