import { describe, expect, test } from "vitest";
import type { RunId, ThreadId } from "../../schemas/ids.ts";
import { startEnvironment, type TestEnvironment, until } from "../support/environments.ts";
import { ask, journalOf, messagesOf, recalls } from "../support/reading.ts";

const p1 = { instance: "p1", model: null };
const p2 = { instance: "p2", model: null };
const knowing = {
  rules: [recalls("codeword", "CW-\\w+"), recalls("later", "LATER-\\w+"), { match: { contains: "hang" }, steps: [{ hang: true }] }],
};
/** The same provider without a way to fork natively: what it knows in a fork, it was told. */
const tellable = { ...knowing, capabilities: { nativeFork: "none" } };

/** The ways in which a fork's provider can come to know its source. */
const ways = [
  ["natively", { p1: knowing, p2: knowing }, p1, "native_fork"],
  ["by handoff to the same provider", { p1: tellable, p2: knowing }, p1, "portable_context"],
  ["by handoff to another provider", { p1: knowing, p2: knowing }, p2, "portable_context"],
] as const;

const forkAt = (env: TestEnvironment, threadId: ThreadId, runId: RunId) =>
  env.send({ type: "thread.fork", threadId, at: { kind: "run", runId } });
const forkLatest = (env: TestEnvironment, threadId: ThreadId) => env.send({ type: "thread.fork", threadId, at: { kind: "latest_stable" } });

describe("a fork knows its source up to its point and nothing else", () => {
  test.each(ways)(
    "F01 %s: what its first run is served with holds nothing of later runs, and inherited items keep their own times",
    async (_way, scripts, provider, kind) => {
      const env = await startEnvironment({ scripts });
      const s = await env.newThread();
      const r1 = await env.say(s, "remember CW-one");
      await env.say(s, "LATER-two");
      await env.say(s, "LATER-three");
      const { threadId: f, transferId } = await forkAt(env, s, r1.id);
      expect(await ask(env, f, "later?", provider)).toBe("I do not know");
      expect(env.transfers.get(transferId)).toMatchObject({ status: "consumed", resolution: { kind } });
      for (const input of [...env.inputs("p1"), ...env.inputs("p2")].filter((i) => i.threadId === f))
        expect(input.full).not.toContain("LATER-");

      const inherited = env.threads.items(f).filter((item) => item.inherited);
      const ofR1 = env.threads.items(s).filter((item) => item.runOrdinal <= 1);
      expect(inherited).toEqual(ofR1.map((item) => ({ ...item, inherited: true })));
      expect(inherited.length).toBeGreaterThan(1);
    },
  );

  test.each(ways)(
    "F06 %s: a codeword that was said in the source is known to the fork's provider",
    async (_way, scripts, provider, kind) => {
      const env = await startEnvironment({ scripts });
      const s = await env.newThread();
      await env.say(s, "remember CW-blue");
      const { threadId: f, transferId } = await forkLatest(env, s);
      expect(await ask(env, f, "codeword?", provider)).toBe("CW-blue");
      expect(env.transfers.get(transferId)?.resolution?.kind).toBe(kind);
    },
  );

  test.each(ways)(
    "F07 %s: a second and a third fork of the same thread know as much as the first",
    async (_way, scripts, provider, kind) => {
      const env = await startEnvironment({ scripts });
      const s = await env.newThread();
      const r1 = await env.say(s, "remember CW-blue");
      await env.say(s, "LATER-red");
      for (let n = 1; n <= 3; n += 1) {
        const { threadId: f, transferId } = await forkAt(env, s, r1.id);
        expect(await ask(env, f, "codeword?", provider)).toBe("CW-blue");
        expect(await ask(env, f, "later?", provider)).toBe("I do not know");
        expect(env.transfers.get(transferId)?.resolution?.kind).toBe(kind);
        expect(messagesOf(env, f).slice(0, 2)).toEqual(["user: remember CW-blue", "assistant: ok: remember CW-blue"]);
      }
    },
  );

  test.each(ways)("F10 %s: two forks that run at once never see each other's prompts", async (_way, scripts, provider) => {
    const env = await startEnvironment({ scripts });
    const s = await env.newThread();
    await env.say(s, "remember CW-blue");
    const forks = [(await forkLatest(env, s)).threadId, (await forkLatest(env, s)).threadId];
    await Promise.all(forks.flatMap((f, n) => [env.say(f, `LATER-f${n}a`, { provider }), env.say(f, `LATER-f${n}b`, { provider })]));
    for (const [n, f] of forks.entries()) {
      expect(await ask(env, f, "later?", provider)).toBe(`LATER-f${n}a`);
      const told = [...env.inputs("p1"), ...env.inputs("p2")].filter((i) => i.threadId === f);
      expect(told).toHaveLength(3);
      for (const input of told) expect(input.full).not.toContain(`LATER-f${1 - n}`);
      expect(messagesOf(env, f).join("\n")).not.toContain(`LATER-f${1 - n}`);
    }
    expect(new Set(forks.map((f) => env.threads.providerThreads(f)[0]?.nativeRef.id)).size).toBe(2);
    expect(await ask(env, s, "later?")).toBe("I do not know");
  });
});

test.each(ways)(
  "F02 %s: a fork that runs leaves its source as it was: no native turn, no event, and a native conversation of its own",
  async (_way, scripts, provider) => {
    const env = await startEnvironment({ scripts });
    const s = await env.newThread();
    await env.say(s, "remember CW-blue");
    const native = env.threads.providerThreads(s)[0]!.nativeRef.id;
    const before = { journal: journalOf(env, s), items: env.threads.items(s), thread: env.threads.get(s) };
    const { threadId: f } = await forkLatest(env, s);
    await env.say(f, "of the fork alone", { provider });
    expect({ journal: journalOf(env, s), items: env.threads.items(s), thread: env.threads.get(s) }).toEqual(before);
    expect(env.threads.providerThreads(f).map((p) => p.nativeRef.id)).not.toContain(native);
    expect(env.inputs("p1").filter((i) => i.native === native)).toHaveLength(1);
    // The source goes on where it was.
    expect(await ask(env, s, "codeword?")).toBe("CW-blue");
    expect(
      env
        .inputs("p1")
        .filter((i) => i.native === native)
        .map((i) => i.turn),
    ).toEqual([1, 2]);
  },
);

describe("F04", () => {
  test("F04 a fork of a fork at an inherited run is forked natively at the original owner's turn", async () => {
    const env = await startEnvironment({ scripts: { p1: knowing } });
    const s = await env.newThread();
    const r1 = await env.say(s, "remember CW-blue");
    await env.say(s, "LATER-red");
    const { threadId: f1 } = await forkAt(env, s, r1.id);
    // Before f1 has run, and after it has a native conversation of its own.
    for (let n = 0; n < 2; n += 1) {
      const { threadId: f2, transferId } = await forkAt(env, f1, r1.id);
      expect(env.transfers.get(transferId)).toMatchObject({ sourceThreadId: f1, sourcePoint: { threadId: s, runId: r1.id } });
      expect(await ask(env, f2, "codeword?")).toBe("CW-blue");
      expect(await ask(env, f2, "later?")).toBe("I do not know");
      expect(env.inputs().find((i) => i.threadId === f2)).toMatchObject({
        opened: "fork",
        forkedFrom: { native: env.threads.providerThreads(s)[0]!.nativeRef.id, turn: r1.turnRef!.id },
      });
      await env.say(f1, "something of the first fork");
    }
  });

  test("F04 a fork of a fork at the fork's own run knows both threads' parts, and no id of ours is given as a native one", async () => {
    const env = await startEnvironment({ scripts: { p1: knowing, p2: knowing } });
    const s = await env.newThread();
    await env.say(s, "remember CW-blue");
    const { threadId: f1 } = await forkLatest(env, s);
    const own = await env.say(f1, "LATER-fork");
    for (const provider of [p1, p2]) {
      const { threadId: f2 } = await forkAt(env, f1, own.id);
      expect(await ask(env, f2, "codeword?", provider)).toBe("CW-blue");
      expect(await ask(env, f2, "later?", provider)).toBe("LATER-fork");
    }
    for (const input of [...env.inputs("p1"), ...env.inputs("p2")])
      for (const id of [input.native, input.forkedFrom?.native, input.forkedFrom?.turn]) expect(id ?? "sc-").toMatch(/^sc-/);
  });

  test("F04 where the owner's run was served elsewhere, a fork of a fork is told instead", async () => {
    const env = await startEnvironment({ scripts: { p1: knowing, p2: knowing } });
    const s = await env.newThread();
    const r1 = await env.say(s, "remember CW-blue");
    const { threadId: f1 } = await forkAt(env, s, r1.id);
    await env.say(f1, "served by the other one", { provider: p2 });
    const { threadId: f2, transferId } = await forkAt(env, f1, r1.id);
    expect(await ask(env, f2, "codeword?", p2)).toBe("CW-blue");
    expect(env.transfers.get(transferId)?.resolution?.kind).toBe("portable_context");
    expect(env.inputs("p2").find((i) => i.threadId === f2)).toMatchObject({ opened: "new" });
  });
});

test.each([
  ["a person", false],
  ["the fork's own agent", true],
])("F09 a child that %s spawned from a fork tells the fork, never the fork's source", async (_who, byAgent) => {
  const env = await startEnvironment({ scripts: { p1: knowing } });
  const s = await env.newThread();
  await env.say(s, "remember CW-blue");
  const { threadId: f } = await forkLatest(env, s);
  const { runId } = await env.send({ type: "thread.send", threadId: f, text: "hang" });
  await until(() => env.runs.get(runId)?.status === "running", "the fork's run");
  const caller = byAgent ? ({ kind: "thread", threadId: f, runId } as const) : ({ kind: "user" } as const);
  const { taskId, childThreadId } = await env.send({ type: "task.spawn", parentThreadId: f, prompt: "the child's work" }, { caller });
  expect(await env.tasks.wait(taskId)).toMatchObject({ status: "completed", parentThreadId: f });
  expect(env.transfers.list({ source: childThreadId! })).toMatchObject([{ type: "subagent_result", targetThreadId: f, status: "pending" }]);
  await env.send({ type: "thread.interrupt", threadId: f });
  await env.ended(runId);
  await env.say(f, "and?");
  await env.say(s, "and?");
  const told = (threadId: ThreadId) => env.inputs().filter((i) => i.threadId === threadId && i.full.includes("the child's work"));
  expect(told(f)).toHaveLength(1);
  expect(told(s)).toEqual([]);
  expect(env.threads.transfers(s)).toEqual([]);
});

test("F11 marks of a source are not inherited by its forks, however they were set", async () => {
  const env = await startEnvironment();
  const s = await env.newThread({ title: "the source" });
  await env.say(s, "one");
  const marks = ["archived", "pinned", "snoozed", "read"] as const;
  for (const mark of marks) await env.send({ type: "thread.mark", threadId: s, mark, on: true });
  expect(Object.keys(env.threads.get(s)!.marks).sort()).toEqual([...marks].sort());
  const { threadId: f1 } = await forkLatest(env, s);
  const { threadId: f2 } = await forkLatest(env, f1);
  for (const f of [f1, f2]) {
    await env.say(f, "still unmarked?");
    expect(env.threads.get(f)).toMatchObject({ marks: {}, title: "the source" });
  }
  expect(Object.keys(env.threads.get(s)!.marks)).toHaveLength(4);
});

test("F15 a fork is listed with its parent before its first run, and after a restart", async () => {
  const env = await startEnvironment();
  const s = await env.newThread();
  await env.say(s, "one");
  const { threadId: f1 } = await forkLatest(env, s);
  const { threadId: f2 } = await forkLatest(env, f1);
  const expectListed = (at: TestEnvironment) => {
    expect(at.threads.list({ parent: s }).map((t) => t.id)).toEqual([f1]);
    expect(at.threads.list({ parent: f1 }).map((t) => t.id)).toEqual([f2]);
    expect(at.threads.get(f2)?.lineage).toEqual({
      parentThreadId: f1,
      parentEnvironmentId: null,
      relationshipToParent: "fork",
      rootThreadId: s,
    });
    for (const f of [f1, f2]) {
      expect(at.threads.runs(f)).toEqual([]);
      expect(messagesOf(at, f)).toEqual(["user: one", "assistant: ok: one"]);
      expect(at.threads.items(f, { ownOnly: true }).map((item) => item.body.kind)).toEqual(["fork_marker"]);
    }
  };
  expectListed(env);
  expectListed(await env.restart());
});
