import { mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { RunId, ThreadId } from "../../schemas/ids.ts";
import { isEndedRun } from "../../schemas/run.ts";
import { MemoryClock } from "../../services/runtime/memory-clock.ts";
import { startEnvironment, type TestEnvironment, temporaryFolder, until } from "../support/environments.ts";
import { killedEnvironment } from "../support/killed-environment.ts";
import { answerIn, messagesOf, recalls } from "../support/reading.ts";
import { wrappedAdapter } from "../support/wrapped-adapter.ts";

const script = {
  rules: [
    recalls("codeword", "CW-\\w+"),
    { match: { contains: "hang" }, steps: [{ delta: "half an ans" }, { hang: true }] },
    { match: { contains: "deaf" }, steps: [{ hang: true, ignoreInterrupt: true }] },
    { match: { contains: "permission" }, steps: [{ approval: { text: "may I?" }, onAccept: [{ text: "done" }] }] },
    { match: { contains: "die" }, steps: [{ text: "last words" }, { crash: true }] },
  ],
};

const send = (threadId: ThreadId, text: string) => ({ command: { type: "thread.send", threadId, text } });
const rename = (threadId: ThreadId) => ({ command: { type: "thread.rename", threadId, title: "the last thing" } });
const killedAtRename = "after commit thread.renamed";

async function begun(env: TestEnvironment, threadId: ThreadId, text: string, status = "running"): Promise<RunId> {
  const { runId } = await env.send({ type: "thread.send", threadId, text });
  await until(() => env.runs.get(runId)?.status === status, `the run to be ${status}`);
  return runId;
}

/** Nothing of the thread is under way or waits, and it takes a message. */
async function expectGoesOn(env: TestEnvironment, threadId: ThreadId): Promise<void> {
  expect(await env.say(threadId, "and now?")).toMatchObject({ status: "completed" });
  expect(env.threads.get(threadId)).toMatchObject({ status: "idle", activeRunId: null, queue: [] });
  expect(env.threads.runs(threadId).filter((run) => !isEndedRun(run.status))).toEqual([]);
}

describe("R02 what a run needs goes away", () => {
  async function inProject(options: Parameters<typeof startEnvironment>[0] = {}) {
    const folder = join(temporaryFolder(), "project");
    mkdirSync(folder);
    const env = await startEnvironment({ scripts: { p1: script }, ...options });
    const { projectId } = await env.send({ type: "project.add", path: folder });
    return { env, folder, s: await env.newThread({ projectId }) };
  }

  test("R02 a folder that is gone before the run fails it at once, clearly; with the folder back it goes on", async () => {
    const { env, folder, s } = await inProject();
    await env.say(s, "remember CW-blue");
    let at = env;
    for (let n = 0; n < 2; n += 1) {
      if (n === 1) at = await env.restart();
      renameSync(folder, `${folder}-away`);
      expect(await at.say(s, "second")).toMatchObject({
        status: "failed",
        error: { code: "invalid_request", reason: "workspace_missing" },
        acceptedAt: null,
      });
      renameSync(`${folder}-away`, folder);
      expect(answerIn(at, s, (await at.say(s, "codeword?")).id)).toBe("CW-blue");
    }
  });

  test("R02 a provider process that dies ends its run at once, and the next run has a new one", async () => {
    const { env, folder, s } = await inProject();
    await env.say(s, "remember CW-blue");
    const run = await begun(env, s, "hang");
    await env.send({ type: "thread.interrupt", threadId: s });
    await env.ended(run);
    rmSync(folder, { recursive: true });
    mkdirSync(folder);
    expect(await env.say(s, "die")).toMatchObject({ status: "failed", error: { reason: "provider_process_died" } });
    expect(messagesOf(env, s).at(-1)).toBe("assistant: last words");
    expect(answerIn(env, s, (await env.say(s, "codeword?")).id)).toBe("CW-blue");
  });

  test.each(["hang", "deaf"])(
    "R02 a provider that says nothing any more (%s) is closed within its lease, its worktree gone or not",
    async (text) => {
      const clock = new MemoryClock(Date.now());
      const config = { providers: { p1: { kind: "scripted" as const, leaseMs: 60_000 } } } as never;
      const { env, folder, s } = await inProject({ clock, config });
      await env.say(s, "remember CW-blue");
      const run = await begun(env, s, text);
      const { runId: behind } = await env.send({ type: "thread.send", threadId: s, text: "codeword?" });
      if (text === "hang") rmSync(folder, { recursive: true });
      await clock.advance(59_000);
      expect(env.runs.get(run)?.status).toBe("running");
      await clock.advance(2_000);
      expect(await env.ended(run)).toMatchObject({
        status: "interrupted",
        error: { code: "provider_unavailable", reason: "lease_expired" },
      });
      const next = await env.ended(behind);
      if (text === "hang") expect(next).toMatchObject({ status: "failed", error: { reason: "workspace_missing" } });
      else expect(answerIn(env, s, behind)).toBe("CW-blue");
    },
  );

  test("R02 a run that waits for a person is not closed by the lease, however long they take", async () => {
    const clock = new MemoryClock(Date.now());
    const env = await startEnvironment({ clock, scripts: { p1: script } });
    const s = await env.newThread();
    const run = await begun(env, s, "permission", "waiting");
    await clock.advance(24 * 3_600_000);
    expect(env.runs.get(run)?.status).toBe("waiting");
    const { requestId } = env.runs.get(run)!.openRequests[0]!;
    await env.send({ type: "run.answer", runId: run, requestId, answer: "accept" });
    expect(await env.ended(run)).toMatchObject({ status: "completed" });
    expect(answerIn(env, s, run)).toBe("done");
  });

  test("R02 a provider that ignores an interrupt does not keep the thread: the run is closed within its bound and the next is served", async () => {
    const clock = new MemoryClock(Date.now());
    const env = await startEnvironment({ clock, interruptMs: 5_000, scripts: { p1: script } });
    const s = await env.newThread();
    await env.say(s, "remember CW-blue");
    const run = await begun(env, s, "deaf");
    const { runId: behind } = await env.send({ type: "thread.send", threadId: s, text: "codeword?" });
    await env.send({ type: "thread.interrupt", threadId: s, runId: run });
    await until(() => env.runs.get(run)?.status === "interrupting", "the interrupt");
    await clock.advance(6_000);
    expect(await env.ended(run)).toMatchObject({ status: "interrupted", error: { reason: "interrupt_ignored" } });
    await env.ended(behind);
    expect(answerIn(env, s, behind)).toBe("CW-blue");
  });
});

describe("R03 cancelled while the session is opening", () => {
  async function opening(env: TestEnvironment, passed: string[], threadId: ThreadId, text: string): Promise<RunId> {
    passed.length = 0;
    const { runId } = await env.send({ type: "thread.send", threadId, text });
    await until(() => passed.includes("before effect provider.start"), "the provider to be asked");
    return runId;
  }

  test("R03 the run is terminal at once, nothing of it stays open, and the next message is served", async () => {
    const passed: string[] = [];
    const env = await startEnvironment({ scripts: { p1: { ...script, openHang: 2 } }, onBoundary: (name) => passed.push(name) });
    const s = await env.newThread();
    for (let n = 0; n < 2; n += 1) {
      const run = await opening(env, passed, s, "never mind");
      await env.send({ type: "thread.interrupt", threadId: s });
      expect(await env.ended(run)).toMatchObject({ status: "interrupted", acceptedAt: null, error: null });
    }
    await expectGoesOn(env, s);
    // What a person took back before anybody saw it is not told.
    expect(env.inputs().map((input) => input.full)).toEqual(["and now?"]);
  });

  test("R03 a session that opens all the same, after everybody has gone, is closed", async () => {
    const dir = temporaryFolder();
    const late = Promise.withResolvers<void>();
    const never = new AbortController().signal;
    let opens = 0;
    const deaf = wrappedAdapter({ instance: "p1", config: { kind: "scripted" }, stateDir: join(dir, "state") }, (inner) => ({
      async open(request) {
        opens += 1;
        if (opens === 1) await late.promise;
        return inner.open(request, never);
      },
    }));
    const env = await startEnvironment({ dir, scripts: {}, adapters: { p1: deaf.adapter } });
    const s = await env.newThread();
    const { runId } = await env.send({ type: "thread.send", threadId: s, text: "never mind" });
    await until(() => opens === 1, "the provider to be asked");
    await env.send({ type: "thread.interrupt", threadId: s });
    expect(await env.ended(runId)).toMatchObject({ status: "interrupted" });
    await env.say(s, "the next");
    expect(deaf.open.size).toBe(1);
    late.resolve();
    await until(() => opens === 2 && deaf.open.size === 1, "the late session to be let go of");
    await expectGoesOn(env, s);
    expect(deaf.open.size).toBe(1);
  });

  test("R03 killed while the session was opening: the environment starts although the provider hangs again, and the run can be cancelled", async () => {
    const dir = temporaryFolder();
    const env = await startEnvironment({ dir, scripts: { p1: { ...script, openHang: 1 } } });
    const s = await env.newThread();
    await env.close();
    await killedEnvironment({
      dir,
      commands: [send(s, "first"), { until: "starting", newestRunOf: s }, rename(s)],
      killAt: killedAtRename,
    });
    const next = await env.restart();
    const [run] = next.threads.runs(s);
    await until(() => next.runs.get(run!.id)?.status === "starting", "the start");
    await next.send({ type: "thread.interrupt", threadId: s });
    expect(await next.ended(run!.id)).toMatchObject({ status: "interrupted" });
    await expectGoesOn(next, s);
  });

  test("R03 an environment that is stopped while a session opens stops at once; the message is told with the next one", async () => {
    const passed: string[] = [];
    const env = await startEnvironment({ scripts: { p1: { ...script, openHang: 1 } }, onBoundary: (name) => passed.push(name) });
    const s = await env.newThread();
    const run = await opening(env, passed, s, "remember CW-lost");
    const next = await env.restart();
    expect(next.runs.get(run)).toMatchObject({ status: "interrupted", error: { reason: "environment_stopped" }, acceptedAt: null });
    // The restarted provider hangs once more in its life.
    const again = await opening(next, passed, s, "once more");
    await next.send({ type: "thread.interrupt", threadId: s, runId: again });
    await next.ended(again);
    expect(answerIn(next, s, (await next.say(s, "codeword?")).id)).toBe("CW-lost");
  });
});
