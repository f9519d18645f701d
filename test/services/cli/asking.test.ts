import { beforeAll, expect, test } from "vitest";
import { lately, until, world } from "./rig.ts";

const box = world();
beforeAll(async () => {
  await box.up();
});

test("a run that asks ends the waiting with 10 and says how to answer; ok lets it go on", async () => {
  const threadId = await box.thread("asks");
  const sent = await box.run("--json", "send", threadId, "approve this");
  expect(sent).toMatchObject({
    code: 10,
    json: { ok: false, threadId, status: "waiting", run: { openRequests: [{ question: "command" }] } },
  });
  expect(sent.stderr).toContain("asks: rm -rf build");
  expect(sent.stderr).toContain(`ropewalk ok ${threadId}`);
  expect((await box.run("show", threadId)).stdout).toMatch(/status +waits for you/);
  expect((await box.run("ls")).stdout).toMatch(/^asks .* waits for you /m);
  expect(await box.run("ok", threadId, "--wait")).toMatchObject({ code: 0, stdout: "removed\n" });
  const again = await box.run("--json", "ok", threadId);
  expect(again).toMatchObject({ code: 2, json: { refusal: { code: "invalid_request", reason: "request_not_open" } } });
});

test("no refuses it by the run's own id, and the run goes on without", async () => {
  const threadId = await box.thread("refuses", "approve this");
  const { runs } = await box.client.threadRuns(threadId);
  const run = runs[0];
  expect(await box.json("no", run?.id ?? "", run?.openRequests[0]?.requestId ?? "", "--wait")).toMatchObject({
    ok: true,
    answer: "decline",
    text: "left alone",
  });
});

test("a question is answered in words; ok and no do not guess at one", async () => {
  const threadId = await box.thread("asks", "ask me");
  const yes = await box.run("--json", "ok", threadId);
  expect(yes).toMatchObject({ code: 2, json: { refusal: { reason: "not_yes_or_no", hint: expect.stringContaining("ropewalk answer") } } });
  expect(await box.run("answer", threadId, "blue", "--wait")).toMatchObject({ code: 0, stdout: "you said blue\n" });
});

test("the time is up: exit code 5, the run goes on, and stop ends it", async () => {
  const threadId = await box.thread("hangs");
  const sent = await box.run("send", threadId, "hang on", "--timeout", "300ms");
  expect(sent).toMatchObject({ code: 5, stdout: "" });
  expect(sent.stderr).toContain("the run goes on");
  expect((await box.client.thread(threadId)).thread.status).toBe("running");
  expect(await box.run("stop", threadId)).toMatchObject({ code: 0, stdout: "stopping 1 run\n" });
  await until(async () => (await box.client.threadRuns(threadId)).runs[0]?.status === "interrupted");
  expect(await box.run("--json", "stop", threadId)).toMatchObject({ code: 3, json: { refusal: { code: "thread_not_interruptible" } } });
});

test("Ctrl-C while waiting: exit code 130, and the run goes on", async () => {
  const threadId = await box.thread("hangs");
  const running = box.start(["send", threadId, "hang on"]);
  await until(async () => (await box.client.threadRuns(threadId)).runs[0]?.status === "running", running.ended);
  // Progress is told once it has taken longer than a second, which also shows that it waits by now.
  await until(() => running.stderr().includes("the run is running"), running.ended);
  running.child.kill("SIGINT");
  const { code, stderr } = await running.ended;
  expect(code).toBe(130);
  expect(stderr).toContain(`the run goes on: ropewalk show ${threadId}`);
  expect((await box.client.thread(threadId)).thread.status).toBe("running");
  await box.run("stop", threadId);
});

test("a task is spawned, waited for, listed and shown; its child gets exactly the task", async () => {
  const threadId = await box.thread("parent", "secret tulip");
  const spawned = await box.json("spawn", threadId, "count the doors", "--title", "doors", "--wait", "--timeout", "20s");
  expect(spawned).toMatchObject({ ok: true, status: "completed", text: "ok: count the doors", task: { spawnedBy: "user", results: 1 } });
  expect((await box.client.items(spawned.childThreadId)).items[0]?.body).toEqual({
    kind: "user_message",
    content: { text: "count the doors" },
  });
  expect((await box.run("task", "list", "--parent", threadId)).stdout).toMatch(
    new RegExp(`^doors +[0-9a-f-]+ +done +here +${lately}$`, "m"),
  );
  expect((await box.run("task", "show", spawned.taskId)).stdout).toMatch(/status +done/);
  expect(await box.run("task", "wait", "@last")).toMatchObject({ code: 0, stdout: "ok: count the doors\n" });
  expect((await box.run("ls")).stdout).toMatch(/^└─ subagent: doors /m);
});

test("a task that hangs: waiting has a bound and cancels nothing; cancel does, and the end is not called done", async () => {
  const threadId = await box.thread("parent");
  const { taskId } = await box.json("spawn", threadId, "hang on");
  expect(await box.run("--json", "task", "wait", taskId, "--timeout", "200ms")).toMatchObject({ code: 5, json: { ok: false, text: null } });
  expect((await box.json("task", "list", "--open")).tasks.map((t: { id: string }) => t.id)).toEqual([taskId]);
  expect((await box.run("task", "cancel", taskId, "--reason", "no longer needed")).code).toBe(0);
  const ended = await box.run("--json", "task", "wait", taskId, "--timeout", "20s");
  expect(ended).toMatchObject({ code: 3, json: { ok: false, status: "cancelled" } });
  expect(await box.run("--json", "task", "dismiss", taskId)).toMatchObject({
    code: 3,
    json: { refusal: { code: "task_not_cancellable" } },
  });
});
