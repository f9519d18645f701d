import { describe, expect, test } from "vitest";
import type { CommandId, ThreadId } from "../../schemas/ids.ts";
import { startEnvironment, type TestEnvironment, until } from "../support/environments.ts";
import { recalls, times } from "../support/reading.ts";

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
const statuses = (env: TestEnvironment, s: ThreadId) =>
  env.threads
    .transfers(s)
    .filter((t) => t.type === "merge_back")
    .map((t) => t.status);
const toldIn = (env: TestEnvironment, s: ThreadId) =>
  [...env.inputs("p1"), ...env.inputs("p2")].filter((i) => i.threadId === s).sort((a, b) => a.at - b.at);

describe("M01", () => {
  test.each([
    ["the provider that it had", p1],
    ["another provider", p2],
  ])(
    "M01 two merged forks are both consumed by the parent's next run at %s, oldest first, each as its own artefact",
    async (_who, provider) => {
      const env = await startEnvironment({ scripts: { p1: knowing, p2: knowing } });
      const { s, forks } = await rig(env, 3);
      const [f1, f2, unmerged] = forks as [ThreadId, ThreadId, ThreadId];
      await env.say(f2, "<f2>");
      await env.say(f1, "<f1>");
      await env.say(unmerged, "<f3>");
      const m1 = await merge(env, f1);
      const m2 = await merge(env, f2);
      expect(statuses(env, s)).toEqual(["pending", "pending"]);
      const run = await env.say(s, "<s2>", { provider });
      for (const m of [m1, m2])
        expect(env.transfers.get(m)).toMatchObject({ status: "consumed", consumedByRunId: run.id, resolution: { kind: "delta_context" } });
      const input = toldIn(env, s).at(-1)!;
      const merges = input.context.filter((text) => text.includes("was merged back"));
      expect(merges.map((text) => ["<f1>", "<f2>", "<f3>", "<s1>"].filter((word) => text.includes(word)))).toEqual([["<f1>"], ["<f2>"]]);
      expect(input.message).toBe("<s2>");
      expect(times("<s1>", input.full)).toBe(provider === p1 ? 0 : 2);
      // They stand in the thread, where a person can open them, and are told again with it.
      const shown = env.threads.items(s).flatMap((i) => (i.body.kind === "handoff" && i.runId === run.id ? [i.body.transferId] : []));
      expect(shown.filter((id) => id === m1 || id === m2)).toEqual([m1, m2]);
      await env.say(s, "<s3>", { provider: provider === p1 ? p2 : p1 });
      const again = toldIn(env, s).at(-1)!;
      for (const word of ["<f1>", "<f2>"]) expect(times(`User:\n${word}`, again.full)).toBe(1);
    },
  );

  test("M01 merges that arrive while the parent is busy wait for its next run", async () => {
    const env = await startEnvironment({ scripts: { p1: knowing, p2: knowing } });
    const { s, forks } = await rig(env, 2);
    for (const [n, f] of forks.entries()) await env.say(f, `<f${n}>`);
    const { runId } = await env.send({ type: "thread.send", threadId: s, text: "hang" });
    await until(() => env.runs.get(runId)?.status === "running", "the parent's run");
    for (const f of forks) await merge(env, f);
    expect(statuses(env, s)).toEqual(["pending", "pending"]);
    await env.send({ type: "thread.interrupt", threadId: s, runId });
    await env.ended(runId);
    const next = await env.say(s, "<s3>");
    expect(env.threads.transfers(s).map((t) => t.consumedByRunId)).toEqual([next.id, next.id]);
  });
});

test("M02 a second merge of a fork tells its new runs alone, and so does every further one", async () => {
  const env = await startEnvironment({ scripts: { p1: knowing, p2: knowing } });
  const { s, forks } = await rig(env);
  const [f] = forks as [ThreadId];
  for (let round = 1; round <= 3; round += 1) {
    await env.say(f, `<f${2 * round - 1}>`);
    await env.say(f, `<f${2 * round}>`);
    const id = await merge(env, f);
    expect(await env.dispatch({ type: "thread.send", threadId: s, text: `<s${round + 1}>` })).toMatchObject({ ok: true });
    await until(() => env.threads.get(s)?.status === "idle", "the parent");
    const { context } = toldIn(env, s).at(-1)!;
    expect(context).toHaveLength(1);
    for (let n = 1; n <= 6; n += 1) expect([n, times(`User:\n<f${n}>`, context[0]!)]).toEqual([n, Math.ceil(n / 2) === round ? 1 : 0]);
    expect(env.transfers.get(id)).toMatchObject({ status: "consumed", sourcePoint: { ordinal: 2 * round } });
    expect(env.transfers.get(id)?.basePoint).toMatchObject(
      round === 1 ? { threadId: s, ordinal: 1 } : { threadId: f, ordinal: 2 * round - 2 },
    );
    expect(await env.dispatch({ type: "thread.merge_back", threadId: f })).toMatchObject({
      ok: false,
      refusal: { code: "invalid_request", reason: "nothing_new" },
    });
  }
});

describe("M03", () => {
  test("M03 merged twice before the parent runs: the first is superseded, one is consumed, and nothing is told twice", async () => {
    const env = await startEnvironment({ scripts: { p1: knowing, p2: knowing } });
    const { s, forks } = await rig(env);
    const [f] = forks as [ThreadId];
    await env.say(f, "<f1>");
    const m1 = await merge(env, f);
    await env.say(f, "<f2>");
    const m2 = await merge(env, f);
    const m3 = await merge(env, f);
    expect(env.transfers.get(m1)).toMatchObject({ status: "superseded", supersededBy: m2 });
    expect(env.transfers.get(m2)).toMatchObject({ status: "superseded", supersedes: m1, supersededBy: m3 });
    const run = await env.say(s, "<s2>");
    expect(env.threads.transfers(s).filter((t) => t.status === "consumed")).toMatchObject([{ id: m3, consumedByRunId: run.id }]);
    const { full } = toldIn(env, s).at(-1)!;
    for (const word of ["<f1>", "<f2>"]) expect(times(`User:\n${word}`, full)).toBe(1);
  });

  test("M03 a merge that a run has claimed is not superseded; when that run fails, the next tells both, each run of the fork once", async () => {
    // The parent's provider takes its time to refuse, so that the claim stands meanwhile.
    const slow = {
      rules: [{ match: { contains: "<s2>" }, steps: [{ acceptAfterMs: 600 }, { fail: { when: "before_accept", message: "busy" } }] }],
    };
    const env = await startEnvironment({ scripts: { p1: slow, p2: knowing } });
    const { s, forks } = await rig(env);
    const [f] = forks as [ThreadId];
    await env.say(f, "<f1>", { provider: p2 });
    const m1 = await merge(env, f);
    const { runId } = await env.send({ type: "thread.send", threadId: s, text: "<s2>" });
    await until(() => env.transfers.get(m1)?.status === "resolved_portable", "the claim and the resolution");
    await env.say(f, "<f2>", { provider: p2 });
    const m2 = await merge(env, f);
    expect(env.transfers.get(m1)).toMatchObject({ status: "resolved_portable", claim: { runId } });
    expect(env.transfers.get(m2)).toMatchObject({ status: "pending", supersedes: null });
    expect((await env.ended(runId)).status).toBe("failed");
    const next = await env.say(s, "<s3>");
    expect(statuses(env, s)).toEqual(["consumed", "consumed"]);
    expect(next.status).toBe("completed");
    const { full } = toldIn(env, s).at(-1)!;
    for (const word of ["<f1>", "<f2>"]) expect([word, times(`User:\n${word}`, full)]).toEqual([word, 1]);
  });

  test("M03 merges and messages that arrive in the same moment end with every merge consumed or superseded, and told once", async () => {
    for (let round = 0; round < 6; round += 1) {
      const env = await startEnvironment({ scripts: { p1: knowing, p2: knowing } });
      const { s, forks } = await rig(env, 2);
      for (const [n, f] of forks.entries()) await env.say(f, `<f${n}>`);
      const [f1, f2] = forks as [ThreadId, ThreadId];
      await Promise.all([
        merge(env, f1),
        env.say(s, "<a>"),
        merge(env, f1),
        merge(env, f2),
        env.say(s, "<b>"),
        merge(env, f2),
        merge(env, f1),
      ]);
      const last = await env.say(s, "<c>");
      expect(last).toMatchObject({ status: "completed", error: null });
      expect(env.threads.runs(s).map((r) => [r.status, r.acceptedAt !== null])).toEqual(Array(4).fill(["completed", true]));
      for (const t of env.threads.transfers(s)) expect(["consumed", "superseded"]).toContain(t.status);
      const told = toldIn(env, s)
        .map((i) => i.full)
        .join("\n");
      for (const n of [0, 1]) expect([round, n, times(`User:\n<f${n}>`, told)]).toEqual([round, n, 1]);
    }
  });
});

describe("M05", () => {
  test("M05 a merge into a thread that is not the parent is refused, and makes nothing", async () => {
    const env = await startEnvironment({ scripts: { p1: knowing, p2: knowing } });
    const { s, forks } = await rig(env, 2);
    const [f1, f2] = forks as [ThreadId, ThreadId];
    await env.say(f1, "<f1>");
    const { threadId: grandchild } = await env.send({ type: "thread.fork", threadId: f1, at: { kind: "latest_stable" } });
    await env.say(grandchild, "<g1>");
    const other = await env.newThread();
    const { childThreadId } = await env.send({ type: "task.spawn", parentThreadId: s, prompt: "work" });
    await until(() => env.tasks.list({ parent: s })[0]?.status === "completed", "the task");
    const before = env.transfers.list().length;
    for (const [threadId, into] of [
      [f1, f2],
      [f1, other],
      [f1, f1],
      [grandchild, s],
      [s, f1],
      [s, undefined],
      [other, s],
      [childThreadId!, s],
    ] as const)
      expect(await env.dispatch({ type: "thread.merge_back", threadId, ...(into === undefined ? {} : { into }) })).toMatchObject({
        ok: false,
        refusal: { code: "invalid_request" },
      });
    expect(await env.dispatch({ type: "thread.merge_back", threadId: f2 })).toMatchObject({
      ok: false,
      refusal: { code: "invalid_request", reason: "no_stable_point" },
    });
    expect(env.transfers.list()).toHaveLength(before);
    // A fork of a fork goes to the fork.
    expect(await env.send({ type: "thread.merge_back", threadId: grandchild, into: f1 })).toMatchObject({ into: f1 });
  });

  test("M05 the repeat of an accepted merge gets the same receipt after the fork was archived, run again, deleted, and after a restart", async () => {
    let env = await startEnvironment({ scripts: { p1: knowing, p2: knowing } });
    const { s, forks } = await rig(env);
    const [f] = forks as [ThreadId];
    await env.say(f, "<f1>");
    const id = "cmd:test:merge-once" as CommandId;
    const command = { type: "thread.merge_back", threadId: f } as const;
    const first = await env.dispatch(command, { id });
    const expectSame = async () => expect(await env.dispatch(command, { id })).toEqual({ ...first, repeated: true });
    await env.send({ type: "thread.mark", threadId: f, mark: "archived", on: true });
    await expectSame();
    await env.say(f, "<f2>");
    await expectSame();
    await env.send({ type: "thread.delete", threadId: f });
    env = await env.restart();
    await expectSame();
    expect(await env.dispatch({ ...command, into: s }, { id })).toMatchObject({ ok: false, refusal: { code: "idempotency_conflict" } });
    expect(statuses(env, s)).toEqual(["pending"]);
    await env.say(s, "<s2>");
    expect(toldIn(env, s).at(-1)!.full).toContain("<f1>");
    expect(toldIn(env, s).at(-1)!.full).not.toContain("<f2>");
  });
});
