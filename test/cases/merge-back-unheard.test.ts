import { describe, expect, test } from "vitest";
import type { ThreadId } from "../../schemas/ids.ts";
import { startEnvironment, type TestEnvironment, temporaryFolder, until } from "../support/environments.ts";
import { killedEnvironment } from "../support/killed-environment.ts";
import { answerIn, recalls, times } from "../support/reading.ts";

const p1 = { instance: "p1", model: null };
const p2 = { instance: "p2", model: null };
const knowing = { rules: [recalls("codeword", "CW-\\w+"), { match: { contains: "hang" }, steps: [{ hang: true }] }] };

/** A source with one completed run, and forks of it. */
async function rig(env: TestEnvironment, forks = 1): Promise<{ s: ThreadId; forks: ThreadId[] }> {
  const s = await env.newThread();
  await env.say(s, "<s1>");
  const made: ThreadId[] = [];
  for (let n = 0; n < forks; n += 1)
    made.push((await env.send({ type: "thread.fork", threadId: s, at: { kind: "latest_stable" }, title: `fork ${n + 1}` })).threadId);
  return { s, forks: made };
}

const merge = async (env: TestEnvironment, threadId: ThreadId) => (await env.send({ type: "thread.merge_back", threadId })).transferId;
const _statuses = (env: TestEnvironment, s: ThreadId) =>
  env.threads
    .transfers(s)
    .filter((t) => t.type === "merge_back")
    .map((t) => t.status);
const toldIn = (env: TestEnvironment, s: ThreadId) =>
  [...env.inputs("p1"), ...env.inputs("p2")].filter((i) => i.threadId === s).sort((a, b) => a.at - b.at);

describe("M04 a merge whose run never reached its provider", () => {
  const failing = (steps: unknown[]) => ({ rules: [{ match: { contains: "<s2>" }, steps }, ...knowing.rules] });

  test.each([
    ["the input is refused", failing([{ fail: { when: "before_accept", message: "busy" } }]), "failed"],
    ["opening fails", { ...knowing, openFail: { times: 1, message: "not now" } }, "failed"],
    ["a person stops it while it waits to be accepted", failing([{ acceptAfterMs: 3_600_000 }]), "interrupted"],
    ["it is stopped while opening", { ...knowing, openHang: 1 }, "interrupted"],
  ])("M04 %s: it is not consumed, and the next run consumes it, told once", async (_why, script, ending) => {
    const passed: string[] = [];
    const env = await startEnvironment({ scripts: { p2: knowing, p1: script }, onBoundary: (name) => passed.push(name) });
    const { s, forks } = await rig(env);
    const [f] = forks as [ThreadId];
    await env.say(f, "remember CW-fork", { provider: p2 });
    const m = await merge(env, f);
    const starts = () => passed.filter((name) => name === "before effect provider.start").length;
    const before = starts();
    const { runId } = await env.send({ type: "thread.send", threadId: s, text: "<s2>", provider: p1 });
    if (ending === "interrupted") {
      await until(() => starts() > before, "the provider to be asked");
      await env.send({ type: "thread.interrupt", threadId: s, runId });
    }
    expect(await env.ended(runId)).toMatchObject({ status: ending, acceptedAt: null });
    expect(env.transfers.get(m)).toMatchObject({ status: "resolved_portable", claim: null, consumedByRunId: null });
    const next = await env.say(s, "codeword?", { provider: p1 });
    expect(answerIn(env, s, next.id)).toBe("CW-fork");
    expect(env.transfers.get(m)).toMatchObject({ status: "consumed", consumedByRunId: next.id });
    expect(
      times(
        "remember CW-fork",
        env
          .inputs("p1")
          .map((i) => i.full)
          .join("\n"),
      ),
    ).toBe(2);
  });

  test("M04 when the next run is another provider's, a successor is told there, and says whom it replaces", async () => {
    const env = await startEnvironment({ scripts: { p1: failing([{ fail: { when: "before_accept", message: "busy" } }]), p2: knowing } });
    const { s, forks } = await rig(env);
    const [f] = forks as [ThreadId];
    await env.say(f, "remember CW-fork", { provider: p2 });
    const m = await merge(env, f);
    await env.say(s, "<s2>");
    const next = await env.say(s, "codeword?", { provider: p2 });
    expect(answerIn(env, s, next.id)).toBe("CW-fork");
    expect(env.threads.transfers(s).filter((t) => t.type === "merge_back")).toMatchObject([
      { id: m, status: "superseded" },
      { supersedes: m, status: "consumed", consumedByRunId: next.id, targetProvider: "p2" },
    ]);
  });

  test.each([
    ["after commit transfer.resolved*", "completed"],
    ["before effect provider.start", "completed"],
    ["before commit transfer.resolved*", "completed"],
    ["after commit run.claimed*", "completed"],
  ])("M04 killed at %s: the run goes on after the restart and consumes it once", async (killAt, ending) => {
    const dir = temporaryFolder();
    const env = await startEnvironment({ dir, scripts: { p1: knowing, p2: knowing } });
    const { s, forks } = await rig(env);
    const [f] = forks as [ThreadId];
    await env.say(f, "remember CW-fork");
    const m = await merge(env, f);
    await env.close();
    await killedEnvironment({ dir, commands: [{ command: { type: "thread.send", threadId: s, text: "codeword?" } }], killAt });
    const next = await env.restart();
    const run = next.threads.runs(s).at(-1)!;
    expect(await next.ended(run.id)).toMatchObject({ status: ending });
    expect(answerIn(next, s, run.id)).toBe("CW-fork");
    expect(next.transfers.get(m)).toMatchObject({ status: "consumed", consumedByRunId: run.id });
    expect(next.inputs("p1").filter((i) => i.runId === run.id)).toHaveLength(1);
  });

  test.each([
    ["knows", {}, "consumed", 1],
    ["cannot say", { lookup: "unknown" }, "resolved_portable", 2],
  ])("M04 killed between the provider's acceptance and ours, where the provider %s what it took", async (_what, more, status, told) => {
    const dir = temporaryFolder();
    const env = await startEnvironment({ dir, scripts: { p1: { ...knowing, ...more }, p2: knowing } });
    const { s, forks } = await rig(env);
    const [f] = forks as [ThreadId];
    await env.say(f, "remember CW-fork");
    const m = await merge(env, f);
    await env.close();
    await killedEnvironment({
      dir,
      commands: [{ command: { type: "thread.send", threadId: s, text: "<s2>" } }],
      killAt: "before commit run.accepted*",
    });
    const next = await env.restart();
    const cut = next.threads.runs(s).at(-1)!;
    expect(cut).toMatchObject({
      status: "interrupted",
      error: { reason: status === "consumed" ? "environment_stopped" : "outcome_unknown" },
    });
    expect(next.transfers.get(m)).toMatchObject({ status, consumedByRunId: status === "consumed" ? cut.id : null });
    const run = await next.say(s, "codeword?");
    expect(answerIn(next, s, run.id)).toBe("CW-fork");
    expect(next.transfers.get(m)?.status).toBe("consumed");
    const inputs = toldIn(next, s).filter((i) => i.full.includes("CW-fork"));
    expect(inputs).toHaveLength(told);
    // What may be a repeat says so; what cannot be says nothing. The message that was cut off is known in both cases.
    const last = toldIn(next, s).at(-1)!.full;
    expect(last.includes("You may have been given this before")).toBe(told === 2);
    expect(
      times(
        "<s2>",
        toldIn(next, s)
          .map((i) => i.full)
          .join("\n"),
      ),
    ).toBe(told);
  });
});
