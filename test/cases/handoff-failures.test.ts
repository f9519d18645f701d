import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { ThreadId, TransferId } from "../../schemas/ids.ts";
import { startEnvironment, type TestEnvironment, temporaryFolder } from "../support/environments.ts";
import { answerIn, ask, messagesOf, recalls, times } from "../support/reading.ts";
import { tamper } from "../support/tamper.ts";
import { wrappedAdapter } from "../support/wrapped-adapter.ts";

const p1 = { instance: "p1", model: null };
const p2 = { instance: "p2", model: null };
const knowing = { rules: [recalls("codeword", "CW-\\w+")] };

const handoffsTo = (env: TestEnvironment, threadId: ThreadId) =>
  env.threads.transfers(threadId).filter((t) => t.type === "provider_handoff");
const lastInput = (env: TestEnvironment, instance: string) => env.inputs(instance).at(-1)!;

describe("H05 a handoff holds its budget", () => {
  const chars = (limit: number) => ({ kind: "scripted", handoffBudget: { unit: "chars", limit } }) as const;
  const withBudgets = (budgets: Record<string, number>) => ({
    scripts: Object.fromEntries(Object.keys(budgets).map((name) => [name, knowing])),
    config: { providers: Object.fromEntries(Object.entries(budgets).map(([name, limit]) => [name, chars(limit)])) } as never,
  });

  async function importInto(env: TestEnvironment, texts: string[]): Promise<ThreadId> {
    const messages = texts.map((text, i) => ({ role: i % 2 === 0 ? ("user" as const) : ("assistant" as const), text }));
    const source = { handoffId: "h", sourceEnvironmentId: "elsewhere", sourceThreadId: "t" };
    return (await env.send({ type: "thread.import", import: { ...source, messages } })).threadId;
  }

  test("H05 of a megabyte of history at most the budget is told: the newest, with what is left out counted and named", async () => {
    const env = await startEnvironment(withBudgets({ p1: 1_000, p2: 1_000 }));
    const s = await importInto(
      env,
      Array.from({ length: 1_000 }, (_, i) => `message ${i}: ${"x".repeat(1_030)}`.slice(0, i === 999 ? 300 : 2_000)),
    );
    const run = await env.say(s, "go on");
    expect(run.status).toBe("completed");
    const [handoff] = env.transfers.handoffsOf(handoffsTo(env, s)[0]!.id);
    expect(handoff!.payload.length).toBeLessThanOrEqual(1_000);
    expect(handoff).toMatchObject({ size: handoff!.payload.length, budget: { unit: "chars", limit: 1_000 } });
    expect(lastInput(env, "p1").context).toEqual([handoff!.payload]);
    expect(handoff!.payload).toContain("message 999");
    expect(handoff!.payload).toMatch(/\[\d+ items left out here\]/);
    const ids = env.threads
      .items(s)
      .filter((item) => item.runOrdinal === 0)
      .map((item) => item.id);
    const left = handoff!.leftOut.map((l) => l.itemId);
    expect(new Set(left).size).toBe(left.length);
    const told = ids.filter((_, i) => handoff!.payload.includes(`message ${i}:`)).length;
    expect(left.length).toBe(ids.length - told);
    for (const l of handoff!.leftOut) expect(l).toMatchObject({ reason: "over_budget", itemId: expect.stringMatching(/^item:/) });
  });

  test.each([
    ["a budget of nothing", 0, ["short"]],
    ["one item that is larger than the budget alone", 500, ["first", "y".repeat(600)]],
  ])("H05 %s is a clear failure before any provider work; a larger target works later", async (_what, limit, texts) => {
    const env = await startEnvironment(withBudgets({ p1: limit, p2: 5_000 }));
    const s = await importInto(env, texts);
    const failed = await env.say(s, "the question");
    expect(failed).toMatchObject({
      status: "failed",
      acceptedAt: null,
      error: { code: "invalid_request", reason: "context_too_large", details: { limit } },
    });
    expect(failed.error?.hint).not.toBe("");
    expect(handoffsTo(env, s)).toMatchObject([{ status: "failed", error: { reason: "context_too_large" } }]);
    expect(env.inputs("p1")).toEqual([]);
    expect(env.threads.providerThreads(s)).toEqual([]);
    expect(messagesOf(env, s).at(-1)).toBe("user: the question");
    const later = await env.say(s, "go on", { provider: p2 });
    expect(later.status).toBe("completed");
    for (const text of [...texts, "the question"]) expect(lastInput(env, "p2").full).toContain(text);
    const transfers = handoffsTo(env, s);
    expect(transfers).toMatchObject([
      { status: "superseded", supersededBy: transfers[1]?.id },
      { status: "consumed", supersedes: transfers[0]?.id },
    ]);
  });

  test("H05 the same target with a larger budget after a restart works too", async () => {
    const env = await startEnvironment(withBudgets({ p1: 0 }));
    const s = await importInto(env, ["remember CW-blue", "yes"]);
    expect((await env.say(s, "codeword?")).status).toBe("failed");
    // As often as one likes: each try is as clear as the first, and replaces it.
    expect((await env.say(s, "codeword?")).error?.reason).toBe("context_too_large");
    expect(handoffsTo(env, s).map((t) => t.status)).toEqual(["superseded", "failed"]);
    await env.close();
    const again = await startEnvironment({ dir: env.dir, ...withBudgets({ p1: 5_000 }) });
    expect(await ask(again, s, "codeword?")).toBe("CW-blue");
  });
});

describe("H06 building the handoff throws", () => {
  /** A counter that fails as often as it is told to, then counts words. */
  function brokenCounter() {
    const state = { failures: 0 };
    const count = async (texts: string[]) => {
      if (state.failures > 0) {
        state.failures -= 1;
        throw new Error("the tokenizer broke");
      }
      return texts.map((text) => text.split(" ").length);
    };
    return { state, counter: { count, close: async () => {} } };
  }

  const inTokens = { providers: { p2: { kind: "scripted", handoffBudget: { unit: "tokens", limit: 200 } } } } as never;

  test("H06 the message stays, run and transfer are failed with the reason, and the next send makes a successor", async () => {
    const { state, counter } = brokenCounter();
    const env = await startEnvironment({ scripts: { p1: knowing, p2: knowing }, config: inTokens, counter });
    const s = await env.newThread();
    await env.say(s, `remember CW-blue ${"word ".repeat(100)}`);
    state.failures = 1;
    const failed = await env.say(s, "the question", { provider: p2 });
    const error = { code: "orchestration_error", reason: "handoff_failed", message: expect.stringContaining("the tokenizer broke") };
    expect(failed).toMatchObject({ status: "failed", error, acceptedAt: null });
    expect(handoffsTo(env, s)).toMatchObject([{ status: "failed", error }]);
    expect(messagesOf(env, s).at(-1)).toBe("user: the question");
    expect(env.threads.get(s)).toMatchObject({ status: "idle", provider: p1 });
    expect(env.inputs("p2")).toEqual([]);
    expect(await ask(env, s, "codeword?", p2)).toBe("CW-blue");
    const [first, second] = handoffsTo(env, s);
    expect(first).toMatchObject({ status: "superseded", supersededBy: second?.id });
    expect(second).toMatchObject({ status: "consumed", supersedes: first?.id });
    expect(lastInput(env, "p2").full).toContain("the question");
  });

  test("H06 of several transfers only the one that it is about fails; the others are free for the next run", async () => {
    const { state, counter } = brokenCounter();
    const env = await startEnvironment({ scripts: { p1: knowing, p2: knowing }, config: inTokens, counter });
    const s = await env.newThread();
    await env.say(s, "short");
    const merges: TransferId[] = [];
    for (const words of [3, 100]) {
      const { threadId: f } = await env.send({ type: "thread.fork", threadId: s, at: { kind: "latest_stable" } });
      await env.say(f, `remember CW-${words} ${"word ".repeat(words)}`);
      merges.push((await env.send({ type: "thread.merge_back", threadId: f })).transferId);
    }
    // The first is small enough to need no count; the second is counted.
    state.failures = 1;
    expect(await env.say(s, "the question", { provider: p2 })).toMatchObject({ status: "failed", error: { reason: "handoff_failed" } });
    expect(merges.map((id) => env.transfers.get(id)?.status)).toEqual(["pending", "failed"]);
    expect(env.threads.transfers(s).every((t) => t.claim === null)).toBe(true);
    const next = await env.say(s, "go on", { provider: p2 });
    const consumed = env.threads.transfers(s).filter((t) => t.status === "consumed");
    expect(consumed.every((t) => t.consumedByRunId === next.id)).toBe(true);
    for (const text of ["CW-3", "CW-100", "the question"]) expect(lastInput(env, "p2").full).toContain(text);
  });

  test("H06 a provider whose capabilities cannot be had fails the run, not the environment, and keeps what waits for it", async () => {
    const dir = temporaryFolder();
    let broken = false;
    const { adapter } = wrappedAdapter({ instance: "p2", config: { kind: "scripted" }, stateDir: join(dir, "state") }, (inner) => ({
      get capabilities() {
        if (broken) throw new Error("the adapter broke");
        return inner.capabilities;
      },
    }));
    const env = await startEnvironment({ dir, scripts: { p1: knowing }, adapters: { p2: adapter } });
    const s = await env.newThread();
    await env.say(s, "remember CW-blue");
    broken = true;
    const error = { code: "orchestration_error", reason: "preparation_failed", message: expect.stringContaining("the adapter broke") };
    expect(await env.say(s, "the question", { provider: p2 })).toMatchObject({ status: "failed", error });
    expect(env.health().effectsSetAside).toEqual([]);
    expect(await ask(env, s, "codeword?")).toBe("CW-blue");
    broken = false;
    await env.say(s, "go on", { provider: p2 });
    expect(env.threads.get(s)?.provider).toEqual(p2);
    for (const text of ["CW-blue", "the question"]) expect(readFileSync(join(dir, "state", "inputs.jsonl"), "utf8")).toContain(text);
  });

  test("H06 a part of the history that is damaged does not keep the rest from being told", async () => {
    const env = await startEnvironment({ scripts: { p1: knowing, p2: knowing } });
    const s = await env.newThread();
    await env.say(s, "remember CW-blue");
    await env.say(s, `large ${"x".repeat(20_000)}`);
    await env.say(s, "third");
    tamper(env.dir, "delete from blobs");
    tamper(env.dir, "update items set body = 'not json' where run_ordinal = 3 and thread_id = ?", s);
    const run = await env.say(s, "codeword?", { provider: p2 });
    expect(run.status).toBe("completed");
    expect(answerIn(env, s, run.id)).toBe("CW-blue");
    expect(lastInput(env, "p2").full).toContain("not available any more");
  });
});

test.each([
  ["before a native conversation exists", { openFail: { times: 1, message: "not now" } }],
  [
    "because its input is refused",
    { rules: [{ match: { contains: "first" }, steps: [{ fail: { when: "before_accept", message: "not now" } }] }, ...knowing.rules] },
  ],
])("H07 an import's history is in the second run's input when the first one failed %s", async (_why, script) => {
  const env = await startEnvironment({ scripts: { p1: { ...knowing, ...script }, p2: knowing } });
  for (const [n, second] of [p1, p2].entries()) {
    const messages = [
      { role: "user" as const, text: `remember CW-${n}` },
      { role: "assistant" as const, text: "remembered" },
    ];
    const { threadId: s } = await env.send({
      type: "thread.import",
      import: { handoffId: `h${n}`, sourceEnvironmentId: "elsewhere", sourceThreadId: "t", messages },
    });
    const r1 = await env.say(s, "first");
    // The instance fails once in its life, or at every first message.
    if (n === 0) expect(r1).toMatchObject({ status: "failed", acceptedAt: null });
    const r2 = await env.say(s, "codeword?", { provider: second });
    expect(answerIn(env, s, r2.id)).toBe(`CW-${n}`);
    const { full } = lastInput(env, second.instance);
    if (r1.status === "failed") {
      expect(full).toMatch(/^Imported conversation history from before this thread ran here\./);
      expect(times("remember CW-", full)).toBe(1);
    }
    expect(
      env.threads
        .transfers(s)
        .filter((t) => t.status !== "superseded")
        .every((t) => t.status === "consumed"),
    ).toBe(true);
  }
});
