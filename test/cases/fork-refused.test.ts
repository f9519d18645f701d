import { rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { CheckpointId, CommandId, ProviderThreadId, RunId, ThreadId } from "../../schemas/ids.ts";
import type { Run } from "../../schemas/run.ts";
import { startEnvironment, type TestEnvironment, temporaryFolder, until } from "../support/environments.ts";
import { killedEnvironment } from "../support/killed-environment.ts";
import { ask, messagesOf, recalls } from "../support/reading.ts";
import { refuseRows } from "../support/tamper.ts";

const p1 = { instance: "p1", model: null };
const p2 = { instance: "p2", model: null };
const knowing = { rules: [recalls("codeword", "CW-\\w+")] };

const forkAt = (env: TestEnvironment, threadId: ThreadId, runId: RunId) =>
  env.send({ type: "thread.fork", threadId, at: { kind: "run", runId } });
const forkLatest = (env: TestEnvironment, threadId: ThreadId) => env.send({ type: "thread.fork", threadId, at: { kind: "latest_stable" } });

describe("F05", () => {
  /** What a failed native fork must leave behind: the failure on both, the message, and nothing under way. */
  function expectFailedFork(env: TestEnvironment, f: ThreadId, run: Run, reason: string): void {
    expect(run).toMatchObject({ status: "failed", error: { reason }, acceptedAt: null });
    expect(env.threads.transfers(f)).toMatchObject([{ status: "failed", error: { reason }, consumedByRunId: null }]);
    expect(messagesOf(env, f).at(-1)).toBe("user: the question");
    expect(env.threads.get(f)).toMatchObject({ status: "idle", activeRunId: null });
    expect(env.threads.providerThreads(f)).toEqual([]);
  }

  test.each([
    ["the same provider", p1],
    ["another provider", p2],
  ])(
    "F05 a refused native fork fails run and transfer and keeps the message; the next send goes on at %s, told",
    async (_who, provider) => {
      const env = await startEnvironment({ scripts: { p1: { ...knowing, capabilities: { refuseFork: true } }, p2: knowing } });
      const s = await env.newThread();
      await env.say(s, "remember CW-blue");
      const { threadId: f, transferId } = await forkLatest(env, s);
      expectFailedFork(env, f, await env.say(f, "the question"), "native_fork_refused");
      expect(await ask(env, f, "codeword?", provider)).toBe("CW-blue");
      const [first, second] = env.threads.transfers(f);
      expect(first).toMatchObject({ id: transferId, status: "superseded", supersededBy: second?.id });
      expect(second).toMatchObject({ type: "fork", supersedes: transferId, status: "consumed", resolution: { kind: "portable_context" } });
      // The message that was kept is part of what is told.
      expect(env.inputs(provider.instance).at(-1)?.full).toContain("the question");
    },
  );

  test("F05 a native conversation that is not there any more fails the fork in the same way", async () => {
    const env = await startEnvironment({ scripts: { p1: knowing } });
    const s = await env.newThread();
    await env.say(s, "remember CW-blue");
    const again = await env.restart();
    const { threadId: f } = await forkLatest(again, s);
    rmSync(join(env.dir, "providers", "p1", "conversations"), { recursive: true });
    expectFailedFork(again, f, await again.say(f, "the question"), "native_thread_unknown");
    expect(await ask(again, f, "codeword?")).toBe("CW-blue");
  });

  test("F05 a provider without strong turn refs is never asked for a native fork: it is told from the start", async () => {
    for (const identity of [{ turn: "none" }, { turn: "weak" }, { thread: "weak" }, { thread: "none" }]) {
      const env = await startEnvironment({ scripts: { p1: { ...knowing, capabilities: { identity, refuseFork: true } } } });
      const s = await env.newThread();
      await env.say(s, "remember CW-blue");
      const { threadId: f, transferId } = await forkLatest(env, s);
      expect(await ask(env, f, "codeword?")).toBe("CW-blue");
      expect(env.transfers.get(transferId)).toMatchObject({ status: "consumed", resolution: { kind: "portable_context" } });
    }
  });

  test("F05 a provider that forks at its head alone is asked for that and told everything else", async () => {
    const env = await startEnvironment({ scripts: { p1: { ...knowing, capabilities: { nativeFork: "head" } } } });
    const s = await env.newThread();
    const r1 = await env.say(s, "remember CW-blue");
    const r2 = await env.say(s, "LATER-red");
    for (const [run, kind] of [
      [r1, "portable_context"],
      [r2, "native_fork"],
    ] as const) {
      const { threadId: f, transferId } = await forkAt(env, s, run.id);
      expect(await ask(env, f, "codeword?")).toBe("CW-blue");
      expect(env.transfers.get(transferId)?.resolution?.kind).toBe(kind);
    }
  });
});

describe("F12", () => {
  const id = "cmd:test:fork-once" as CommandId;

  async function sourceIn(dir: string): Promise<{ env: TestEnvironment; s: ThreadId }> {
    const env = await startEnvironment({ dir, scripts: { p1: knowing } });
    const s = await env.newThread();
    await env.say(s, "remember CW-blue");
    return { env, s };
  }

  /** The command once more: one fork with one pending transfer, and both are the receipt's. */
  async function expectOneFork(env: TestEnvironment, s: ThreadId): Promise<void> {
    const first = await env.dispatch({ type: "thread.fork", threadId: s, at: { kind: "latest_stable" } }, { id });
    const again = await env.dispatch({ type: "thread.fork", threadId: s, at: { kind: "latest_stable" } }, { id });
    expect(again).toEqual({ ...first, repeated: true });
    const forks = env.threads.list({ parent: s });
    expect(forks).toHaveLength(1);
    expect(env.threads.transfers(forks[0]!.id)).toMatchObject([{ type: "fork", status: "pending" }]);
    expect(first).toMatchObject({ ok: true, result: { threadId: forks[0]!.id, transferId: env.threads.transfers(forks[0]!.id)[0]!.id } });
    expect(await ask(env, forks[0]!.id, "codeword?")).toBe("CW-blue");
  }

  test.each(["actors", "journal", "items", "receipts"])(
    "F12 a store that fails at the fork's %s has taken nothing; the same command again makes one fork",
    async (table) => {
      const { env, s } = await sourceIn(temporaryFolder());
      const condition = {
        actors: "new.kind = 'transfer'",
        journal: "new.kind = 'transfer'",
        items: "new.body like '%fork_marker%'",
        receipts: "true",
      }[table]!;
      const allow = refuseRows(env.dir, table, condition);
      const before = env.lastCommit;
      const failed = await env.dispatch({ type: "thread.fork", threadId: s, at: { kind: "latest_stable" } }, { id });
      expect(failed).toMatchObject({ ok: false, refusal: { code: "orchestration_error" } });
      expect(env.threads.list({ parent: s })).toEqual([]);
      expect(env.lastCommit).toBe(before);
      allow();
      await expectOneFork(env, s);
    },
  );

  test.each(["before", "after"])(
    "F12 a process that is killed %s the fork's commit leaves no half of it; the same command again makes one fork",
    async (when) => {
      const dir = temporaryFolder();
      const { env, s } = await sourceIn(dir);
      await env.close();
      await killedEnvironment({
        dir,
        commands: [{ id, command: { type: "thread.fork", threadId: s, at: { kind: "latest_stable" } } }],
        killAt: `${when} commit thread.created transfer.created`,
      });
      const next = await env.restart();
      expect(next.threads.list({ parent: s })).toHaveLength(when === "before" ? 0 : 1);
      await expectOneFork(next, s);
    },
  );
});

describe("F13 a fork at something that is not stable", () => {
  async function rig() {
    const env = await startEnvironment({
      scripts: {
        p1: {
          rules: [
            { match: { contains: "hang" }, steps: [{ text: "half" }, { hang: true }] },
            { match: { contains: "fail" }, steps: [{ fail: { message: "no" } }] },
          ],
        },
      },
    });
    const s = await env.newThread();
    const failed = await env.say(s, "fail");
    const completed = await env.say(s, "complete");
    const { runId: active } = await env.send({ type: "thread.send", threadId: s, text: "hang" });
    const { runId: queued } = await env.send({ type: "thread.send", threadId: s, text: "waits" });
    await until(() => env.runs.get(active)?.status === "running", "the active run");
    const other = await env.newThread();
    const foreign = await env.say(other, "elsewhere");
    return { env, s, failed, completed, active, queued, other, foreign };
  }
  type Rig = Awaited<ReturnType<typeof rig>>;
  const unknown = "00000000-0000-7000-8000-000000000000";

  test.each<[string, (r: Rig) => unknown, object]>([
    ["the active run", (r) => ({ kind: "run", runId: r.active }), { code: "invalid_request", reason: "source_run_active" }],
    ["a queued run", (r) => ({ kind: "run", runId: r.queued }), { code: "invalid_request", reason: "source_run_active" }],
    ["a failed run", (r) => ({ kind: "run", runId: r.failed.id }), { code: "invalid_request", reason: "no_stable_point" }],
    ["an unknown run", () => ({ kind: "run", runId: `run:${unknown}` as RunId }), { code: "run_not_found" }],
    ["another thread's run", (r) => ({ kind: "run", runId: r.foreign.id }), { code: "run_not_found" }],
    [
      "an unknown checkpoint",
      () => ({ kind: "checkpoint", checkpointId: `checkpoint:${unknown}` as CheckpointId }),
      { code: "invalid_request", reason: "unknown_checkpoint" },
    ],
    [
      "another thread's checkpoint",
      (r) => ({ kind: "checkpoint", checkpointId: r.foreign.checkpointId }),
      { code: "invalid_request", reason: "unknown_checkpoint" },
    ],
    [
      "an unknown provider thread",
      () => ({ kind: "provider_thread", providerThreadId: `pthread:${unknown}` as ProviderThreadId }),
      { code: "invalid_request" },
    ],
    [
      "another thread's provider thread",
      (r) => ({ kind: "provider_thread", providerThreadId: r.foreign.providerThreadId }),
      { code: "invalid_request" },
    ],
    [
      "a provider thread in the middle of a turn",
      (r) => ({ kind: "provider_thread", providerThreadId: r.env.runs.get(r.active)!.providerThreadId }),
      { code: "invalid_request", reason: "source_run_active" },
    ],
    ["something malformed", () => ({ kind: "run", runId: "the last one" }), { code: "invalid_request", reason: "malformed" }],
  ])("F13 %s is a typed error and makes no thread", async (_what, at, refusal) => {
    const r = await rig();
    const before = { threads: r.env.threads.list().length, commit: r.env.lastCommit };
    expect(await r.env.dispatch({ type: "thread.fork", threadId: r.s, at: at(r) })).toMatchObject({ ok: false, refusal });
    expect(r.env.threads.list()).toHaveLength(before.threads);
    expect(r.env.transfers.list({ source: r.s })).toEqual([]);
  });

  test("F13 a thread without a completed run has no latest stable point; while a run is active the latest is the completed one before", async () => {
    const r = await rig();
    const fresh = await r.env.newThread();
    expect(await r.env.dispatch({ type: "thread.fork", threadId: fresh, at: { kind: "latest_stable" } })).toMatchObject({
      ok: false,
      refusal: { code: "invalid_request", reason: "no_stable_point" },
    });
    const { threadId: f, transferId } = await forkLatest(r.env, r.s);
    expect(r.env.transfers.get(transferId)?.sourcePoint).toMatchObject({ runId: r.completed.id, ordinal: 2 });
    expect(messagesOf(r.env, f)).toEqual(["user: fail", "user: complete", "assistant: ok: complete"]);
  });

  test("F13 what comes after a fork's point is not there to be forked at from the fork", async () => {
    const r = await rig();
    const { threadId: f } = await forkAt(r.env, r.s, r.completed.id);
    await r.env.send({ type: "thread.interrupt", threadId: r.s });
    await r.env.ended(r.queued);
    const later = await r.env.say(r.s, "later");
    expect(await r.env.dispatch({ type: "thread.fork", threadId: f, at: { kind: "run", runId: later.id } })).toMatchObject({
      ok: false,
      refusal: { code: "run_not_found" },
    });
    expect(r.env.threads.list({ parent: f })).toEqual([]);
  });
});
