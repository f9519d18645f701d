import { describe, expect, test } from "vitest";
import type { CommandId, RunId, ThreadId } from "../../schemas/ids.ts";
import { startEnvironment, type TestEnvironment, until } from "../support/environments.ts";
import { killedEnvironment } from "../support/killed-environment.ts";
import { answerIn, messagesOf, recalls } from "../support/reading.ts";
import { refuseRows, tamper } from "../support/tamper.ts";

const script = { rules: [recalls("codeword", "CW-\\w+"), { match: { contains: "hang" }, steps: [{ hang: true }] }] };

/** Two threads with history, one of which will suffer; the environment is closed, so that its file can be damaged. */
async function twoThreads() {
  const env = await startEnvironment({ scripts: { p1: script } });
  const [poisoned, sound] = [await env.newThread(), await env.newThread()];
  for (const [n, threadId] of [poisoned, sound].entries()) await env.say(threadId, `remember CW-${n}`);
  return { env, poisoned, sound };
}

async function expectGoesOn(env: TestEnvironment, threadId: ThreadId, codeword: string): Promise<void> {
  expect(answerIn(env, threadId, (await env.say(threadId, "codeword?")).id)).toBe(codeword);
}

const damage = (env: TestEnvironment, id: string) =>
  expect(tamper(env.dir, "update actors set context = '{\"id\": ' where id = ?", id)).toBe(1);
const isSetAside = (env: TestEnvironment, id: string) => env.health().setAside.some((row) => row.id === id && row.reason !== "");

describe("R04 a row that cannot be read", () => {
  test("R04 a thread's: it is set aside and shown, commands to it are refused, and all others go on", async () => {
    const { env, poisoned, sound } = await twoThreads();
    await env.close();
    damage(env, poisoned);
    const next = await env.restart();
    expect(next.threads.get(poisoned)).toBeNull();
    expect(isSetAside(next, poisoned)).toBe(true);
    expect(next.threads.list().map((t) => t.id)).toEqual([sound]);
    expect(await next.dispatch({ type: "thread.send", threadId: poisoned, text: "?" })).toMatchObject({
      ok: false,
      refusal: { code: "thread_not_found" },
    });
    await expectGoesOn(next, sound, "CW-1");
  });

  test("R04 a run's that was under way: the others are closed and served as if it were not there", async () => {
    const { env, poisoned, sound } = await twoThreads();
    await killedWhileTheyRun(env, [poisoned, sound]);
    const bad = tamper(env.dir, "update actors set context = '{' where kind = 'run' and status = 'running' and owner = ?", poisoned);
    expect(bad).toBe(1);
    const next = await env.restart();
    expect(next.health().setAside).toMatchObject([{ id: expect.stringMatching(/^run:/) }]);
    expect(next.threads.runs(sound).at(-1)).toMatchObject({ status: "interrupted" });
    await expectGoesOn(next, sound, "CW-1");
  });

  test("R04 a task's: its child's run ends all the same, and what it would have been told stays in the journal", async () => {
    const { env, poisoned, sound } = await twoThreads();
    const { taskId, childThreadId } = await env.send({ type: "task.spawn", parentThreadId: poisoned, prompt: "work" });
    expect(await env.tasks.wait(taskId)).toMatchObject({ status: "completed" });
    await killedWhileTheyRun(env, [childThreadId!]);
    damage(env, taskId);
    const next = await env.restart();
    const run = next.threads.runs(childThreadId!).at(-1)!;
    expect(run).toMatchObject({ status: "interrupted" });
    expect(next.threads.get(childThreadId!)).toMatchObject({ status: "idle" });
    expect(isSetAside(next, taskId)).toBe(true);
    expect(
      tamper(
        env.dir,
        "update journal set seq = seq where actor_id = ? and verdict = 'ignored' and event like ?",
        taskId,
        `%child_run_ended%${run.id}%`,
      ),
    ).toBe(1);
    // The child can be talked to, its result has nobody to go to, the parent and everybody else go on.
    expect((await next.say(childThreadId!, "and now?")).status).toBe("completed");
    await expectGoesOn(next, poisoned, "CW-0");
    await expectGoesOn(next, sound, "CW-1");
  });

  test("R04 a transfer's: the run that worked on it ends, and the thread goes on without it", async () => {
    const { env, sound } = await twoThreads();
    const { threadId: f } = await env.send({ type: "thread.fork", threadId: sound, at: { kind: "latest_stable" } });
    await env.say(f, "of the fork");
    const { transferId } = await env.send({ type: "thread.merge_back", threadId: f });
    await env.close();
    damage(env, transferId);
    const next = await env.restart();
    await expectGoesOn(next, sound, "CW-1");
    expect(isSetAside(next, transferId)).toBe(true);
    await expectGoesOn(next, f, "CW-1");
  });

  test("R04 an item's, an effect's and a provider thread's: the environment starts, shows them, and serves everybody else", async () => {
    const { env, poisoned, sound } = await twoThreads();
    const { runId } = await env.send({ type: "thread.send", threadId: poisoned, text: "hang" });
    await until(() => env.runs.get(runId)?.status === "running", "the run");
    await env.close();
    tamper(env.dir, "update items set body = 'not json' where thread_id = ? and run_ordinal = 1", poisoned);
    tamper(env.dir, "update provider_threads set body = '[' where thread_id = ?", poisoned);
    tamper(env.dir, "update effects set request = '{', state = 'pending' where request like ?", `%${runId}%`);
    const next = await env.restart();
    await expectGoesOn(next, sound, "CW-1");
    expect(next.health().setAside.length).toBeGreaterThan(0);
    expect(isEnded(next, runId)).toBe(true);
    // Its own thread still takes messages; what cannot be read is not made up.
    const run = await next.say(poisoned, "and now?");
    expect(["completed", "failed"]).toContain(run.status);
    expect(messagesOf(next, poisoned)).toContain("user: and now?");
  });

  test("R04 a receipt's: its command is refused rather than done a second time", async () => {
    const { env, sound } = await twoThreads();
    const id = "cmd:test:once" as CommandId;
    const command = { type: "thread.fork", threadId: sound, at: { kind: "latest_stable" } } as const;
    await env.send(command, { id });
    await env.close();
    tamper(env.dir, "update receipts set response = '{' where command_id = ?", id);
    const next = await env.restart();
    expect(await next.dispatch(command, { id })).toMatchObject({ ok: false, refusal: { code: "orchestration_error" } });
    expect(next.threads.list({ parent: sound })).toHaveLength(1);
    await expectGoesOn(next, sound, "CW-1");
  });
});

/** Ends the environment as a crash does, with a run of each thread under way. */
async function killedWhileTheyRun(env: TestEnvironment, threads: ThreadId[]): Promise<void> {
  await env.close();
  const commands = threads.flatMap((threadId) => [
    { command: { type: "thread.send", threadId, text: "hang" } },
    { until: "running", newestRunOf: threadId },
  ]);
  const last = { command: { type: "thread.rename", threadId: threads[0], title: "the last thing" } };
  await killedEnvironment({ dir: env.dir, commands: [...commands, last], killAt: "after commit thread.renamed" });
}

const isEnded = (env: TestEnvironment, runId: RunId) => env.runs.get(runId)?.endedAt !== null;

describe("R04 an effect that keeps failing", () => {
  test("R04 it is set aside and shown, the others go on, and its run is closed by the next start", async () => {
    const { env, poisoned, sound } = await twoThreads();
    // Nothing that this run's preparation comes to can be written.
    const allow = refuseRows(
      env.dir,
      "journal",
      "new.kind = 'run' and (new.event like '%run.claimed%' or new.event like '%run.unprepared%')",
    );
    const { runId: stuck } = await env.send({ type: "thread.send", threadId: poisoned, text: "codeword?" });
    const { runId: behind } = await env.send({ type: "thread.send", threadId: poisoned, text: "behind it" });
    await until(() => env.health().effectsSetAside.length === 1, "the effect to be set aside");
    expect(env.health().effectsSetAside).toMatchObject([{ kind: "run.prepare", note: expect.stringContaining("refused by the test") }]);
    expect(env.runs.get(stuck)?.status).toBe("preparing");
    allow();
    await expectGoesOn(env, sound, "CW-1");

    const next = await env.restart();
    expect(next.runs.get(stuck)).toMatchObject({
      status: "failed",
      error: { code: "orchestration_error", reason: "preparation_set_aside" },
    });
    expect(await next.ended(behind)).toMatchObject({ status: "completed" });
    await expectGoesOn(next, poisoned, "CW-0");
  });
});
