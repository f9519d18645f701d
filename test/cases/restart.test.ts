import { describe, expect, test } from "vitest";
import type { RunId, ThreadId } from "../../schemas/ids.ts";
import { isEndedRun } from "../../schemas/run.ts";
import { startEnvironment, type TestEnvironment, temporaryFolder, until } from "../support/environments.ts";
import { killedEnvironment, type Victim } from "../support/killed-environment.ts";
import { answerIn, messagesOf, recalls } from "../support/reading.ts";

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

describe("R01 killed with a run under way and a message behind it", () => {
  /** The first run's way up to the kill, with a second message queued, and how it must have ended. */
  const moments: [string, (s: ThreadId) => Omit<Victim, "dir">, string][] = [
    ["prepared", (s) => ({ commands: [send(s, "first"), send(s, "second")], killAt: "after commit run.created*" }), "completed"],
    [
      "about to be started",
      (s) => ({ commands: [send(s, "first"), send(s, "second")], killAt: "before effect provider.start" }),
      "completed",
    ],
    [
      "running",
      (s) => ({ commands: [send(s, "hang"), { until: "running", newestRunOf: s }, send(s, "second"), rename(s)], killAt: killedAtRename }),
      "interrupted",
    ],
    [
      "waiting for an answer",
      (s) => ({
        commands: [send(s, "permission"), { until: "waiting", newestRunOf: s }, send(s, "second"), rename(s)],
        killAt: killedAtRename,
      }),
      "interrupted",
    ],
    [
      "being interrupted",
      (s) => ({
        commands: [
          send(s, "deaf"),
          { until: "running", newestRunOf: s },
          { command: { type: "thread.interrupt", threadId: s } },
          send(s, "second"),
          rename(s),
        ],
        killAt: killedAtRename,
      }),
      "interrupted",
    ],
    ["ending", (s) => ({ commands: [send(s, "first"), send(s, "second")], killAt: "before commit run.ended*" }), "interrupted"],
    [
      "handing over to the next",
      (s) => ({ commands: [send(s, "first"), send(s, "second")], killAt: "after commit run.ended*" }),
      "completed",
    ],
  ];

  const onArchived = moments.filter(([what]) => what === "running" || what === "about to be started");
  const open = moments.map(([what, victim, ending]) => [what, "open", victim, ending] as const);
  test.each([...open, ...onArchived.map(([what, victim, ending]) => [what, "archived", victim, ending] as const)])(
    "R01 %s, on an %s thread: the run is terminal after the restart, the message runs, and nothing waits behind a zombie",
    async (_what, kind, victim, ending) => {
      const dir = temporaryFolder();
      const env = await startEnvironment({ dir, scripts: { p1: script } });
      const s = await env.newThread();
      await env.say(s, "remember CW-blue");
      if (kind === "archived") await env.send({ type: "thread.mark", threadId: s, mark: "archived", on: true });
      await env.close();
      await killedEnvironment({ dir, ...victim(s) });
      const next = await env.restart();
      const [, first, second] = next.threads.runs(s);
      expect(await next.ended(first!.id)).toMatchObject({ status: ending, openRequests: [] });
      if (second !== undefined) expect(await next.ended(second.id)).toMatchObject({ status: "completed", error: null });
      expect(answerIn(next, s, (await next.say(s, "codeword?")).id)).toBe("CW-blue");
      await expectGoesOn(next, s);
      const told = next.inputs().map((input) => input.runId);
      expect(new Set(told).size).toBe(told.length);
      if (kind === "archived") expect(next.threads.get(s)?.marks.archived).toBeDefined();
    },
  );

  test("R01 an approval that was open is expired, and what had been streamed is kept as the piece that it is", async () => {
    const dir = temporaryFolder();
    const env = await startEnvironment({ dir, scripts: { p1: script } });
    const [s, t] = [await env.newThread(), await env.newThread()];
    await env.close();
    await killedEnvironment({
      dir,
      commands: [
        send(s, "permission"),
        { until: "waiting", newestRunOf: s },
        send(t, "hang"),
        { until: "running", newestRunOf: t },
        rename(t),
      ],
      killAt: killedAtRename,
    });
    const next = await env.restart();
    const [asked] = next.threads.runs(s);
    expect(asked).toMatchObject({ status: "interrupted", error: { reason: "environment_stopped" } });
    const bodies = next.threads.items(s).map((item) => item.body);
    expect(bodies).toContainEqual({ kind: "approval_answer", requestId: expect.any(String), answer: "expired", by: "system" });
    const requestId = bodies.flatMap((body) => (body.kind === "approval" ? [body.requestId] : []))[0]!;
    expect(await next.dispatch({ type: "run.answer", runId: asked!.id, requestId, answer: "accept" })).toMatchObject({
      ok: false,
      refusal: { code: "invalid_request", reason: "request_not_open" },
    });
    expect(next.threads.runs(t)[0]?.status).toBe("interrupted");
  });

  test("R01 an environment that is stopped in good order leaves the messages that wait to the next start", async () => {
    const env = await startEnvironment({ scripts: { p1: script } });
    const s = await env.newThread();
    const active = await begun(env, s, "hang");
    const { runId: second } = await env.send({ type: "thread.send", threadId: s, text: "second" });
    const { runId: third } = await env.send({ type: "thread.send", threadId: s, text: "third" });
    const next = await env.restart();
    expect(next.runs.get(active)).toMatchObject({ status: "interrupted", error: { reason: "environment_stopped" } });
    expect(messagesOf(next, s)).toContain("assistant: half an ans");
    for (const runId of [second, third]) expect(await next.ended(runId)).toMatchObject({ status: "completed", error: null });
    expect(next.inputs().map((input) => input.message)).toEqual(["hang", "second", "third"]);
  });
});
