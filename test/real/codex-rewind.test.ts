import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { AttemptId, ThreadId } from "../../schemas/ids.ts";
import type { Rewind } from "../../services/providers/contract.ts";
import { codexWorld, never, processesOf, transcript } from "../support/codex-world.ts";
import { startEnvironment, type TestEnvironment } from "../support/environments.ts";
import { killedEnvironment } from "../support/killed-environment.ts";
import { ModelEndpoint, say, when } from "../support/model-endpoint.ts";
import { RealCodex } from "../support/real-codex.ts";
import { input, runTurn } from "../support/turn-log.ts";

/** An environment with the real Codex and a thread with `count` runs; `through` stands between it and the binary. */
async function withRuns(count: number, through?: (codex: RealCodex) => string) {
  const endpoint = await ModelEndpoint.start(when("FAIL", { kind: "status", status: 400, message: "refused by the test's model" }));
  onTestFinished(() => endpoint[Symbol.asyncDispose]());
  const codex = await RealCodex.create(endpoint);
  onTestFinished(() => codex[Symbol.dispose]());
  const bin = through?.(codex) ?? codex.config.bin;
  const env = await startEnvironment({
    scripts: { other: null },
    config: { providers: { codex: { ...codex.config, ...(bin !== undefined && { bin }) } }, defaultProvider: "codex" },
  });
  const thread = await env.newThread();
  for (let n = 1; n <= count; n += 1) await env.say(thread, `message ${n}`);
  return { env, thread, endpoint, codex };
}

const answered = (...messages: string[]) => messages.flatMap((m) => [`user: ${m}`, "assistant: ok"]);
const run = (env: TestEnvironment, thread: ThreadId, n: number) => env.threads.runs(thread)[n - 1]!;
const natives = (env: TestEnvironment, thread: ThreadId) => env.threads.providerThreads(thread).map((p) => p.nativeRef.id);

describe("a real Codex behind an undo", () => {
  it("F01 After an undo of two runs of four the model is shown the first two and the new message, in the same native thread", async () => {
    const { env, thread, endpoint } = await withRuns(4);
    const before = natives(env, thread);
    await env.send({ type: "thread.undo", threadId: thread, to: run(env, thread, 2).id });
    expect((await env.say(thread, "new")).status).toBe("completed");
    expect(transcript(endpoint)).toEqual([...answered("message 1", "message 2"), "user: new"]);
    expect(natives(env, thread)).toEqual(before);
    // Once more, down to a turn that failed: it stays as the failed turn that it is.
    expect((await env.say(thread, "FAIL")).status).toBe("failed");
    await env.say(thread, "after it");
    await env.send({ type: "thread.undo", threadId: thread });
    expect((await env.say(thread, "again")).status).toBe("completed");
    expect(transcript(endpoint)).toEqual([...answered("message 1", "message 2", "new"), "user: FAIL", "user: again"]);
    expect(natives(env, thread)).toEqual(before);
  });

  it("After an undo and its undoing the model is shown everything, and nothing was taken back natively", async () => {
    const { env, thread, endpoint } = await withRuns(3);
    await env.send({ type: "thread.undo", threadId: thread, to: run(env, thread, 1).id });
    await env.send({ type: "thread.redo", threadId: thread });
    await env.say(thread, "new");
    expect(transcript(endpoint)).toEqual([...answered("message 1", "message 2", "message 3"), "user: new"]);
  });

  it("F02 A fork has what it was made with, also after its source was taken back; a fork is taken back without its source", async () => {
    const { env, thread, endpoint } = await withRuns(3);
    const { threadId: fork } = await env.send({ type: "thread.fork", threadId: thread, at: { kind: "latest_stable" } });
    await env.say(fork, "in the fork");
    await env.send({ type: "thread.undo", threadId: thread });
    await env.send({ type: "thread.undo", threadId: thread });
    await env.say(thread, "new");
    expect(transcript(endpoint)).toEqual([...answered("message 1"), "user: new"]);
    await env.say(fork, "more");
    expect(transcript(endpoint)).toEqual([...answered("message 1", "message 2", "message 3", "in the fork"), "user: more"]);
    await env.send({ type: "thread.undo", threadId: fork, to: null });
    await env.say(fork, "anew");
    expect(transcript(endpoint)).toEqual([...answered("message 1", "message 2", "message 3"), "user: anew"]);
    const { threadId: late } = await env.send({ type: "thread.fork", threadId: thread, at: { kind: "latest_stable" } });
    await env.say(late, "late");
    expect(transcript(endpoint)).toEqual([...answered("message 1", "new"), "user: late"]);
  });

  it("R01 Killed between the revert and its record, the environment finds what Codex took, and goes on from there", async () => {
    const { env, thread, endpoint } = await withRuns(4);
    const before = natives(env, thread);
    await env.send({ type: "thread.undo", threadId: thread, to: run(env, thread, 2).id });
    await env.close();
    const commands = [{ command: { type: "thread.send", threadId: thread, text: "new" } }];
    await killedEnvironment({ dir: env.dir, commands, killAt: "before commit run.accepted*" });
    const again = await env.restart();
    expect((await again.ended(run(again, thread, 5).id)).acceptedAt).not.toBeNull();
    await again.say(thread, "after it");
    expect(transcript(endpoint).filter((line) => /message [34]/.test(line))).toEqual([]);
    expect(transcript(endpoint).filter((line) => line === "user: new")).toHaveLength(1);
    expect(natives(again, thread)).toEqual(before);
    expect(again.threads.providerThreads(thread)).toMatchObject([
      {
        cutAfter: null,
        coverage: {
          native: [
            [1, 2],
            [5, 6],
          ],
        },
      },
    ]);
  });

  it("F05 A thread that Codex can only fork fails the first start after an undo, and is forked by the next", async () => {
    const { env, thread, endpoint } = await withRuns(3, (codex) => {
      const bin = join(codex.folder, "legacy");
      writeFileSync(bin, `#!/bin/sh\nsed -u 's/"historyMode":"paginated"/"historyMode":"legacy"/' | "${codex.config.bin}" "$@"\n`);
      chmodSync(bin, 0o755);
      return bin;
    });
    await env.send({ type: "thread.undo", threadId: thread });
    const refused = await env.say(thread, "TRY");
    expect(refused).toMatchObject({ status: "failed", acceptedAt: null, error: { reason: "native_rewind_refused" } });
    expect(refused.error?.message).toContain("only supports paginated threads");
    expect((await env.say(thread, "new")).status).toBe("completed");
    expect(transcript(endpoint)).toEqual([...answered("message 1", "message 2"), "user: new"]);
    expect(new Set(natives(env, thread)).size).toBe(2);
    const [failed, successor] = env.threads.transfers(thread).filter((t) => t.type === "provider_handoff");
    expect(failed).toMatchObject({ status: "superseded", error: { reason: "native_rewind_refused" } });
    expect(successor).toMatchObject({ status: "consumed", supersedes: failed!.id });
  });
});

describe("taking a native thread back", () => {
  /** A conversation of four turns, and how it is taken back to the second. */
  async function four() {
    const world = await codexWorld(when("SAY", say("ok")));
    const on = world.adapter();
    const session = await world.start(on);
    const inputs = ["one", "two", "three", "four"].map((text) => input(text));
    const names: Rewind["drop"][number][] = [];
    for (const given of inputs) names.push({ turnRef: (await runTurn(session, given)).turnRef, attemptId: given.attemptId as AttemptId });
    const back = (adapter = on, rewind: Rewind = { keep: names[1]!, drop: names.slice(2) }) =>
      adapter.open({ ...world.request(), kind: "resume", nativeRef: session.nativeRef, rewind }, never);
    return { ...world, on, session, names, back };
  }

  it("R01 It is repeatable: killed after the revert, a new process finds nothing to do and goes on there", async () => {
    const { back, codex, adapter, endpoint, session } = await four();
    await session.detach();
    await back();
    for (const pid of processesOf(codex)) process.kill(pid, "SIGKILL");
    const again = await back(adapter());
    await runTurn(again, "new");
    expect(transcript(endpoint)).toEqual([...answered("one", "two"), "user: new"]);
  });

  it("Turns that are known only by our message ids are found", async () => {
    const { back, session, endpoint, names, on } = await four();
    await session.detach();
    const byMessage = names.map(({ attemptId }) => ({ turnRef: null, attemptId }));
    await runTurn(await back(on, { keep: byMessage[1]!, drop: byMessage.slice(2) }), "new");
    expect(transcript(endpoint)).toEqual([...answered("one", "two"), "user: new"]);
  });

  it("A turn that somebody else had with the conversation is not taken back with ours, and one before ours stays", async () => {
    const { back, session, endpoint, names, on } = await four();
    await session.detach();
    const others = { keep: names[0]!, drop: [names[1]!, names[2]!] };
    await expect(back(on, others)).rejects.toMatchObject({ rewindRefused: true, refusal: { reason: "native_rewind_refused" } });
    await runTurn(await back(on, { keep: names[0]!, drop: [names[3]!] }), "new");
    expect(transcript(endpoint)).toEqual([...answered("one", "two", "three"), "user: new"]);
  });

  it("Without the turn that is to stay it is refused, and nothing is taken back", async () => {
    const { back, session, endpoint, names, on, resume } = await four();
    await session.detach();
    const unknown = { turnRef: { id: "01970000-0000-7000-8000-000000000000", strength: "strong" as const }, attemptId: null };
    await expect(back(on, { keep: unknown, drop: names.slice(2) })).rejects.toMatchObject({ rewindRefused: true, openFailed: true });
    await runTurn(await resume(on, session), "new");
    expect(transcript(endpoint)).toEqual([...answered("one", "two", "three", "four"), "user: new"]);
  });
});
