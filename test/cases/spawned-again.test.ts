import { describe, expect, test } from "vitest";
import type { ThreadId } from "../../schemas/ids.ts";
import { startEnvironment, type TestEnvironment } from "../support/environments.ts";
import { times } from "../support/reading.ts";

const p2 = { instance: "p2", model: null };
const busyOnce = { rules: [{ match: { contains: "count the files" }, steps: [{ fail: { when: "before_accept", message: "busy" } }] }] };

/** A child whose first run was refused by its provider, so that it never had its task. */
async function refusedChild(env: TestEnvironment, handedOver?: string): Promise<ThreadId> {
  const s = await env.newThread();
  const { childThreadId, runId } = await env.send({
    type: "task.spawn",
    parentThreadId: s,
    prompt: "count the files",
    ...(handedOver === undefined ? {} : { handedOver }),
  });
  expect(await env.ended(runId!)).toMatchObject({ status: "failed", acceptedAt: null });
  return childThreadId!;
}

describe("S10 a child whose first run never reached its provider", () => {
  test("S10 is given its next message as it stands, and the task with what went before", async () => {
    const env = await startEnvironment({ scripts: { p1: busyOnce, p2: null } });
    const c = await refusedChild(env);
    const run = await env.say(c, "try again", { provider: p2 });
    expect(run.status).toBe("completed");
    const [input] = env.inputs("p2");
    expect(input).toMatchObject({ message: "try again" });
    expect(times("count the files", input!.full)).toBe(1);
    expect(env.threads.transfers(c).every((t) => t.status === "consumed" || t.status === "superseded")).toBe(true);
  });

  test("S10 is still told what was handed over with the task, and so is every provider after that", async () => {
    const env = await startEnvironment({ scripts: { p1: busyOnce, p2: null, p3: null } });
    const c = await refusedChild(env, "the notes");
    for (const instance of ["p2", "p3"]) {
      await env.say(c, `at ${instance}`, { provider: { instance, model: null } });
      const [input] = env.inputs(instance);
      expect(input).toMatchObject({ message: `at ${instance}` });
      for (const text of ["the notes", "count the files"]) expect([instance, text, times(text, input!.full)]).toEqual([instance, text, 1]);
    }
  });

  test("S10 that a person stopped before it began is told its task beside the next message", async () => {
    const passed: string[] = [];
    const env = await startEnvironment({ scripts: { p1: { openHang: 1 } }, onBoundary: (name) => passed.push(name) });
    const s = await env.newThread();
    const { childThreadId, taskId, runId } = await env.send({ type: "task.spawn", parentThreadId: s, prompt: "count the files" });
    await expect.poll(() => passed).toContain("before effect provider.start");
    await env.send({ type: "task.cancel", taskId });
    await env.ended(runId!);
    await env.say(childThreadId!, "go on after all");
    expect(env.inputs()).toMatchObject([{ message: "go on after all", context: ["Your task:\n\ncount the files"] }]);
  });
});

test("what was handed over with a task is told again when another provider takes over", async () => {
  const env = await startEnvironment({ scripts: { p1: { rules: [{ match: {}, steps: [{ text: "done" }] }] }, p2: null } });
  const s = await env.newThread();
  const { childThreadId, taskId } = await env.send({
    type: "task.spawn",
    parentThreadId: s,
    prompt: "count the files",
    handedOver: "the notes",
  });
  await env.tasks.wait(taskId);
  await env.say(childThreadId!, "and now?", { provider: p2 });
  const { full } = env.inputs("p2")[0]!;
  for (const text of ["the notes", "User:\ncount the files"]) expect(times(text, full)).toBe(1);
});
