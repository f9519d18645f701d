import { rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { ThreadId } from "../../schemas/ids.ts";
import { startEnvironment, type TestEnvironment, until } from "../support/environments.ts";
import { answerIn, ask, messagesOf, recalls, times } from "../support/reading.ts";

const p1 = { instance: "p1", model: null };
const p2 = { instance: "p2", model: null };
const knowing = { rules: [recalls("codeword", "CW-\\w+"), { match: { contains: "hang" }, steps: [{ hang: true }] }] };

const handoffsTo = (env: TestEnvironment, threadId: ThreadId) =>
  env.threads.transfers(threadId).filter((t) => t.type === "provider_handoff");
const lastInput = (env: TestEnvironment, instance: string) => env.inputs(instance).at(-1)!;

describe("H01 another instance is told what it does not know", () => {
  test.each([
    ["another provider", "p2", { p1: knowing, p2: knowing }],
    ["another instance of the same provider", "p1-work", { p1: knowing, "p1-work": knowing }],
  ])("H01 %s, after the first one's session was released", async (_what, instance, scripts) => {
    const env = await startEnvironment({ scripts });
    const s = await env.newThread();
    await env.say(s, "remember CW-blue");
    // An environment that starts holds no session, which is what is left of one that was released.
    const again = await env.restart();
    expect(await ask(again, s, "codeword?", { instance, model: null })).toBe("CW-blue");
    expect(lastInput(again, instance)).toMatchObject({ opened: "new", message: "codeword?" });
    expect(lastInput(again, instance).context).toHaveLength(1);
    expect(handoffsTo(again, s)).toMatchObject([
      { status: "consumed", sourceThreadId: s, sourceProvider: "p1", targetProvider: instance, resolution: { kind: "portable_context" } },
    ]);
    expect(again.threads.get(s)?.provider).toMatchObject({ instance });
  });

  test("H01 a switch that was said beforehand hands over in the same way, and a thread without history hands over nothing", async () => {
    const env = await startEnvironment({ scripts: { p1: knowing, p2: knowing } });
    const s = await env.newThread();
    await env.say(s, "remember CW-blue");
    await env.send({ type: "thread.switch", threadId: s, provider: p2 });
    expect(env.threads.get(s)?.provider?.instance).toBe("p1");
    expect(answerIn(env, s, (await env.say(s, "codeword?")).id)).toBe("CW-blue");
    expect(env.threads.get(s)).toMatchObject({ provider: p2, preferred: null });
    const fresh = await env.newThread();
    await env.send({ type: "thread.switch", threadId: fresh, provider: p2 });
    await env.say(fresh, "first");
    expect(lastInput(env, "p2").full).toBe("first");
    expect(handoffsTo(env, fresh)).toEqual([]);
  });
});

describe("H02 the old writer is let go of before the new one begins", () => {
  test.each([
    ["a new conversation", false],
    ["a conversation to go on with", true],
  ])("H02 going to %s while the other one's session is attached", async (_what, wasThereBefore) => {
    const locked = { ...knowing, capabilities: { writerLock: true } };
    const env = await startEnvironment({ scripts: { p1: locked, p2: locked } });
    const s = await env.newThread();
    if (wasThereBefore) await env.say(s, "first at p2", { provider: p2 });
    await env.say(s, "remember CW-blue");
    for (const provider of [p2, p1, p2]) expect(await ask(env, s, "codeword?", provider)).toBe("CW-blue");
  });

  test.each([
    ["once", 1, true],
    ["for ever", true, false],
  ])("H02 a writer that does not let go, %s, fails the run clearly; its own provider goes on", async (_how, detachFail, letsGoLater) => {
    const env = await startEnvironment({ scripts: { p1: { ...knowing, capabilities: { writerLock: true }, detachFail }, p2: knowing } });
    const s = await env.newThread();
    await env.say(s, "remember CW-blue");
    const refused = await env.say(s, "the question", { provider: p2 });
    expect(refused).toMatchObject({ status: "failed", error: { code: "provider_unavailable", reason: "detach_failed" }, acceptedAt: null });
    expect(env.inputs("p2")).toEqual([]);
    expect(env.threads.get(s)).toMatchObject({ status: "idle", provider: p1 });
    expect(handoffsTo(env, s)).toMatchObject([{ status: "resolved_portable", claim: null }]);
    expect(await ask(env, s, "codeword?", p1)).toBe("CW-blue");
    // What could not be told there is told here.
    expect(lastInput(env, "p1").full).toContain("the question");
    const next = await env.say(s, "codeword?", { provider: p2 });
    expect(next.status).toBe(letsGoLater ? "completed" : "failed");
  });
});

describe("H03 a queued message's provider counts when it is delivered", () => {
  test("H03 the thread's provider changes with the delivery, and the handoff covers the runs before as they really ended", async () => {
    const env = await startEnvironment({ scripts: { p1: knowing, p2: knowing } });
    const s = await env.newThread();
    const r1 = await env.send({ type: "thread.send", threadId: s, text: "hang in the first" });
    const r2 = await env.send({ type: "thread.send", threadId: s, text: "remember CW-second", provider: p1 });
    const r3 = await env.send({ type: "thread.send", threadId: s, text: "codeword?", provider: p2 });
    await until(() => env.runs.get(r1.runId)?.status === "running", "the first run");
    expect(env.threads.get(s)).toMatchObject({ provider: p1, queue: [r2.runId, r3.runId] });
    expect(env.threads.transfers(s)).toEqual([]);
    await env.send({ type: "thread.interrupt", threadId: s, runId: r1.runId });
    await env.ended(r3.runId);
    expect(env.runs.get(r1.runId)?.status).toBe("interrupted");
    expect(answerIn(env, s, r3.runId)).toBe("CW-second");
    expect(env.threads.get(s)?.provider).toEqual(p2);
    const [handoff] = env.transfers.handoffsOf(handoffsTo(env, s)[0]!.id);
    expect(handoff?.covers.map((c) => c.ordinal)).toEqual([1, 2]);
    expect(lastInput(env, "p2").full).toContain("hang in the first");
    expect(lastInput(env, "p2").full).toContain("ok: remember CW-second");
  });

  test.each([
    ["cannot be opened", { openFail: { message: "no such model", code: "model_unavailable" } }, "model_unavailable"],
    [
      "refuses the input",
      { rules: [{ match: {}, steps: [{ fail: { when: "before_accept", message: "busy" } }] }] },
      "provider_unavailable",
    ],
  ])(
    "H03 when the other provider %s, that run fails, the thread stays with its own, and the queue goes on",
    async (_what, broken, code) => {
      const env = await startEnvironment({ scripts: { p1: knowing, p2: broken } });
      const s = await env.newThread();
      const r1 = await env.send({ type: "thread.send", threadId: s, text: "remember CW-blue" });
      const r2 = await env.send({ type: "thread.send", threadId: s, text: "for the other", provider: p2 });
      const r3 = await env.send({ type: "thread.send", threadId: s, text: "codeword?" });
      await env.ended(r3.runId);
      expect([r1, r2, r3].map((r) => env.runs.get(r.runId)?.status)).toEqual(["completed", "failed", "completed"]);
      expect(env.runs.get(r2.runId)?.error?.code).toBe(code);
      expect(env.threads.get(s)?.provider).toEqual(p1);
      expect(answerIn(env, s, r3.runId)).toBe("CW-blue");
      expect(messagesOf(env, s)).toContain("user: for the other");
    },
  );

  test("H03 a switch that is said while messages wait counts for those that come after it, not for those that wait", async () => {
    const env = await startEnvironment({ scripts: { p1: knowing, p2: knowing } });
    const s = await env.newThread();
    const r1 = await env.send({ type: "thread.send", threadId: s, text: "hang" });
    const named = await env.send({ type: "thread.send", threadId: s, text: "named", provider: p1 });
    await env.send({ type: "thread.switch", threadId: s, provider: p2 });
    const after = await env.send({ type: "thread.send", threadId: s, text: "after" });
    await until(() => env.runs.get(r1.runId)?.status === "running", "the first run");
    await env.send({ type: "thread.interrupt", threadId: s, runId: r1.runId });
    await env.ended(after.runId);
    expect(env.runs.get(named.runId)?.provider).toEqual(p1);
    expect(env.runs.get(after.runId)?.provider).toEqual(p2);
  });
});

test("H09 a second message while a run prepares its handoff is queued behind it; there is one handoff, and it is told once", async () => {
  const env = await startEnvironment({
    scripts: { p1: knowing, p2: knowing },
    config: { providers: { p2: { kind: "scripted", handoffBudget: { unit: "tokens", limit: 2_000 } } } } as never,
  });
  const s = await env.newThread();
  // Large enough that its size must be counted, by a tokenizer that has to be loaded first.
  await env.say(s, `remember CW-blue ${"word ".repeat(3_000)}`);
  const first = await env.send({ type: "thread.send", threadId: s, text: "codeword?", provider: p2 });
  await until(() => env.runs.get(first.runId)?.transferIds.length === 1, "the claim");
  expect(env.runs.get(first.runId)?.status).toBe("preparing");
  const second = await env.send({ type: "thread.send", threadId: s, text: "and codeword?", provider: p2 });
  const third = await env.send({ type: "thread.send", threadId: s, text: "last", provider: p2 });
  expect(env.runs.get(first.runId)?.status).toBe("preparing");
  expect(env.threads.get(s)).toMatchObject({ activeRunId: first.runId, queue: [second.runId, third.runId] });
  await env.ended(third.runId);
  expect(handoffsTo(env, s)).toMatchObject([{ status: "consumed", consumedByRunId: first.runId }]);
  expect(env.inputs("p2").map((i) => [i.message, i.context.length, i.turn])).toEqual([
    ["codeword?", 1, 1],
    ["and codeword?", 0, 2],
    ["last", 0, 3],
  ]);
});

describe("H10 coming back to an earlier provider", () => {
  test("H10 resumes its native conversation and tells exactly the runs that it missed", async () => {
    const env = await startEnvironment({ scripts: { p1: knowing, p2: knowing } });
    const s = await env.newThread();
    await env.say(s, "run one");
    await env.say(s, "run two");
    await env.say(s, "run three", { provider: p2 });
    const r4 = await env.say(s, "run four", { provider: p1 });
    const [one, , four] = env.inputs("p1");
    expect(four).toMatchObject({ opened: "resume", native: one!.native, turn: 3 });
    expect(four!.context).toHaveLength(1);
    expect(four!.context[0]).toContain("run three");
    expect(four!.context[0]).toContain("ok: run three");
    for (const text of ["run one", "run two", "run four"]) expect(four!.context[0]).not.toContain(text);
    const delta = env.threads.transfers(s).find((t) => t.consumedByRunId === r4.id)!;
    expect(delta).toMatchObject({
      type: "provider_handoff",
      resolution: { kind: "delta_context" },
      basePoint: { ordinal: 2 },
      sourcePoint: { ordinal: 3 },
    });
    expect(env.transfers.handoffsOf(delta.id)[0]!.covers.map((c) => c.ordinal)).toEqual([3]);
    // Nothing missed, nothing told.
    await env.say(s, "run five", { provider: p1 });
    expect(lastInput(env, "p1").full).toBe("run five");
  });

  test("H10 over many changes and a restart every provider is told every run exactly once", async () => {
    let env = await startEnvironment({ scripts: { p1: knowing, p2: knowing, p3: knowing } });
    const s = await env.newThread();
    const served = ["p1", "p2", "p1", "p3", "p3", "p2", "p1", "p3", "p2"];
    for (const [i, instance] of served.entries()) {
      if (i === 4) env = await env.restart();
      await env.say(s, `<run ${i + 1}>`, { provider: { instance, model: null } });
    }
    for (const instance of ["p1", "p2", "p3"]) {
      const all = env
        .inputs(instance)
        .map((input) => input.full)
        .join("\n");
      const last = served.lastIndexOf(instance);
      for (const [i, by] of served.entries()) {
        const asMessage = by === instance ? 1 : 0;
        const asHistory = i < last && by !== instance ? 1 : 0;
        expect([instance, i + 1, times(`User:\n<run ${i + 1}>`, all), times(`<run ${i + 1}>`, all) > 0]).toEqual([
          instance,
          i + 1,
          asHistory,
          asMessage + asHistory > 0,
        ]);
      }
      expect(new Set(env.inputs(instance).map((input) => input.native)).size).toBe(1);
    }
  });

  test("H10 a run that the other provider did not complete is told as it ended", async () => {
    const env = await startEnvironment({
      scripts: {
        p1: knowing,
        p2: { rules: [{ match: { contains: "break" }, steps: [{ text: "half an answer" }, { fail: { message: "broke" } }] }] },
      },
    });
    const s = await env.newThread();
    await env.say(s, "run one");
    expect((await env.say(s, "break", { provider: p2 })).status).toBe("failed");
    await env.say(s, "run three", { provider: p1 });
    const { context } = lastInput(env, "p1");
    for (const text of ["break", "half an answer", "broke"]) expect(context[0]).toContain(text);
    expect(context[0]).not.toContain("run one");
  });

  test("H10 where the native conversation is gone, the run says so and the next one starts anew with everything", async () => {
    const env = await startEnvironment({ scripts: { p1: knowing, p2: knowing } });
    const s = await env.newThread();
    await env.say(s, "remember CW-blue");
    await env.say(s, "meanwhile", { provider: p2 });
    const again = await env.restart();
    rmSync(join(env.dir, "providers", "p1", "conversations"), { recursive: true });
    const lost = await again.say(s, "the question", { provider: p1 });
    expect(lost).toMatchObject({ status: "failed", error: { reason: "native_thread_unknown" }, acceptedAt: null });
    expect(await ask(again, s, "codeword?", p1)).toBe("CW-blue");
    expect(lastInput(again, "p1")).toMatchObject({ opened: "new" });
    for (const text of ["remember CW-blue", "meanwhile", "the question"]) expect(lastInput(again, "p1").full).toContain(text);
    await again.say(s, "once more", { provider: p1 });
    expect(lastInput(again, "p1")).toMatchObject({ opened: "resume", full: "once more" });
  });
});
