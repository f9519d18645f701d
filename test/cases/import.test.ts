import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { startEnvironment, until } from "../support/environments.ts";
import { type ImportResult, importing, sendImport, sourceEnvironmentId, sourceThreadId, threeTurns } from "../support/imports.ts";
import { killedEnvironment } from "../support/killed-environment.ts";
import { messagesOf, times } from "../support/reading.ts";

const header = "Imported conversation history from before this thread ran here.";

/** Computed here once more, from the contract's words alone. */
function derivedThreadId(...parts: string[]): string {
  return `thread:import:${createHash("sha256").update(parts.join("\n"), "utf8").digest("hex").slice(0, 32)}`;
}

test("I01 a continuation that could not start is started by the retry, and nothing is imported twice", async () => {
  const env = await startEnvironment();
  const wanted = { continuationPrompt: "Who laid the rope?", provider: { instance: "p3", model: null } };
  const first = await sendImport(env, wanted);
  expect(first).toMatchObject({ created: true, runId: null, continuation: "refused", refusal: { code: "provider_unavailable" } });
  expect(messagesOf(env, first.threadId)).toHaveLength(6);
  await env.close();

  const later = await startEnvironment({ dir: env.dir, scripts: { p1: null, p3: null } });
  const retry = await sendImport(later, wanted);
  expect(retry).toMatchObject({ threadId: first.threadId, created: false, continuation: "started" });
  expect((await later.ended(retry.runId)).status).toBe("completed");
  expect(messagesOf(later, first.threadId)).toHaveLength(8);
  expect(await sendImport(later, wanted)).toMatchObject({ created: false, continuation: "already", runId: retry.runId });
  expect(later.threads.runs(first.threadId)).toHaveLength(1);
  expect(later.inputs("p3")).toHaveLength(1);
});

test("I01 the retry may come under the command id of the first try", async () => {
  const env = await startEnvironment();
  const command = importing({ continuationPrompt: "Go on.", provider: { instance: "p3", model: null } });
  const id = "cmd:a-client:import-1" as never;
  expect(await env.dispatch(command, { id })).toMatchObject({ ok: true, result: { created: true, continuation: "refused" } });
  await env.close();
  const later = await startEnvironment({ dir: env.dir, scripts: { p1: null, p3: null } });
  expect(await later.dispatch(command, { id })).toMatchObject({ ok: true, result: { created: false, continuation: "started" } });
  expect(await later.dispatch(command, { id })).toMatchObject({ ok: true, result: { created: false, continuation: "already" } });
  expect(await later.dispatch(importing({ handoffId: "another" }), { id })).toMatchObject({
    ok: false,
    refusal: { code: "idempotency_conflict" },
  });
});

test("I01 a continuation that ran and failed is not started again", async () => {
  const env = await startEnvironment({ scripts: { p1: { rules: [{ match: {}, steps: [{ fail: { message: "broken" } }] }] } } });
  const first = await sendImport(env, { continuationPrompt: "Go on." });
  expect((await env.ended(first.runId)).status).toBe("failed");
  expect(await sendImport(env, { continuationPrompt: "Go on." })).toMatchObject({
    created: false,
    continuation: "already",
    runId: first.runId,
  });
  expect(env.threads.runs(first.threadId)).toHaveLength(1);
});

test("I02 three turns are six messages in order before any run, and without a repository the conversation comes alone", async () => {
  const env = await startEnvironment();
  const { threadId, created } = await sendImport(env, { messages: threeTurns.map((m, i) => ({ ...m, createdAt: 1_000 + i })) });
  expect(created).toBe(true);
  expect(messagesOf(env, threadId)).toEqual(threeTurns.map((m) => `${m.role}: ${m.text}`));
  const items = env.threads.items(threadId);
  expect(items.map((i) => [i.runId, i.runOrdinal])).toEqual(threeTurns.map(() => [null, 0]));
  expect(items.map((i) => i.createdAt)).toEqual([1_000, 1_001, 1_002, 1_003, 1_004, 1_005]);
  expect(env.threads.get(threadId)).toMatchObject({
    title: "Ropes",
    historyOrigin: "v1_import",
    status: "idle",
    lastOrdinal: 0,
    provider: null,
    workspace: { strategy: "root" },
  });
  expect(env.threads.runs(threadId)).toEqual([]);
  expect(env.inputs("p1")).toEqual([]);
  const [transfer, ...others] = env.threads.transfers(threadId);
  expect(others).toEqual([]);
  expect(transfer).toMatchObject({
    type: "provider_handoff",
    status: "pending",
    sourceThreadId: threadId,
    targetThreadId: threadId,
    createdBy: "system",
    sourceProvider: null,
  });
  expect(env.threads.checkpoints(threadId)).toMatchObject([{ ordinal: 0, runId: null }]);
});

test("the whole import is one commit", async () => {
  const env = await startEnvironment();
  const { threadId } = await sendImport(env, { continuationPrompt: "Go on." });
  const made = env.changes(0, 10_000).filter((c) => (c.type === "item" ? c.threadId === threadId : c.event.endsWith(".created")));
  expect(made).toHaveLength(10);
  expect(new Set(made.map((c) => c.commit)).size).toBe(1);
});

test.each(["p1", "p2"])("the first run on %s is told the history under exactly the contract's header, once", async (instance) => {
  const env = await startEnvironment({
    scripts: {
      p1: null,
      p2: { capabilities: { contextInjection: "native", nativeFork: "none", identity: { thread: "none", turn: "none" } } },
    },
  });
  const { threadId, runId } = await sendImport(env, { continuationPrompt: "Which ship?", provider: { instance, model: null } });
  expect((await env.ended(runId)).status).toBe("completed");
  const [input, ...more] = env.inputs(instance);
  expect(more).toEqual([]);
  expect(input).toMatchObject({ threadId, opened: "new", message: "Which ship?" });
  expect(input?.context).toHaveLength(1);
  const told = input?.context[0] ?? "";
  expect(told.split("\n")[0]).toBe(header);
  const order = threeTurns.map((m) => told.indexOf(m.text));
  expect(order.every((at) => at > 0)).toBe(true);
  expect(order).toEqual(order.toSorted((a, b) => a - b));
  const [transfer] = env.threads.transfers(threadId);
  expect(transfer).toMatchObject({ status: "consumed", consumedByRunId: runId, resolution: { kind: "portable_context" } });

  await env.say(threadId, "And the rope?", { provider: { instance, model: null } });
  expect(env.inputs(instance)).toHaveLength(2);
  expect(times(header, JSON.stringify(env.inputs(instance)))).toBe(times(header, JSON.stringify([input])));
});

test("I04 an import whose answer was lost with the process is found again by its retry: the same ids, and one run", async () => {
  const env = await startEnvironment();
  const { dir } = env;
  await env.close();
  const command = importing({ continuationPrompt: "Go on." });
  await killedEnvironment({ dir, commands: [{ command }], killAt: "after commit thread.created*" });

  const later = await startEnvironment({ dir });
  const retry = await sendImport(later, { continuationPrompt: "Go on." });
  expect(retry).toMatchObject({
    created: false,
    continuation: "already",
    threadId: derivedThreadId(sourceEnvironmentId, sourceThreadId, "h1"),
  });
  expect((await later.ended(retry.runId)).status).toBe("completed");
  expect(later.threads.list()).toHaveLength(1);
  expect(later.threads.runs(retry.threadId).map((r) => r.id)).toEqual([retry.runId]);
  expect(messagesOf(later, retry.threadId)).toHaveLength(8);
  expect(later.inputs("p1")).toHaveLength(1);
});

test("I05 the same key with any other payload is a conflict that changes nothing", async () => {
  const env = await startEnvironment();
  const { threadId } = await sendImport(env);
  const before = [messagesOf(env, threadId), env.health().counts, env.threads.get(threadId)];
  const others = [
    { messages: threeTurns.slice(0, 5) },
    { messages: threeTurns.map((m, i) => (i === 3 ? { ...m, text: "Fifty fathoms." } : m)) },
    { messages: threeTurns.map((m) => ({ ...m, createdAt: 1 })) },
    { messages: threeTurns.map((m) => ({ ...m, role: "user" })) },
    { title: "Other ropes" },
    { continuationPrompt: "Go on." },
    { provider: { instance: "p1", model: null } },
    { runtimeMode: "approval-required" },
  ];
  for (const other of others)
    expect(await env.dispatch(importing(other))).toMatchObject({
      ok: false,
      refusal: { code: "idempotency_conflict", details: { threadId } },
    });
  expect([messagesOf(env, threadId), env.health().counts, env.threads.get(threadId)]).toEqual(before);
  expect(await sendImport(env)).toMatchObject({ threadId, created: false });
});

test("an import repeated under other command ids, and together, makes one thread, one run and one provider turn", async () => {
  const env = await startEnvironment();
  const answers = await Promise.all(Array.from({ length: 8 }, () => sendImport(env, { continuationPrompt: "Go on." })));
  expect(answers.filter((a) => a.created)).toHaveLength(1);
  expect(answers.filter((a) => a.continuation === "started")).toHaveLength(1);
  expect(new Set(answers.map((a) => `${a.threadId} ${a.runId}`)).size).toBe(1);
  const [{ threadId, runId }] = answers as [ImportResult];
  await env.ended(runId);
  expect(await sendImport(env, { continuationPrompt: "Go on." })).toMatchObject({ created: false, continuation: "already", runId });
  expect(env.threads.list()).toHaveLength(1);
  expect(env.threads.runs(threadId)).toHaveLength(1);
  expect(env.threads.transfers(threadId)).toHaveLength(1);
  expect(messagesOf(env, threadId)).toHaveLength(8);
  expect(env.inputs("p1")).toHaveLength(1);
});

test("the thread id follows from source environment, source thread and handoff id alone; another handoff id is another thread", async () => {
  const env = await startEnvironment();
  const odd = { handoffId: "ein Übergang ⚓", sourceEnvironmentId: "laptop.example", sourceThreadId: "a/b:c d" };
  const { threadId } = await sendImport(env, odd);
  expect(threadId).toBe(derivedThreadId("laptop.example", "a/b:c d", "ein Übergang ⚓"));
  const second = await sendImport(env, { ...odd, handoffId: "another" });
  expect(second).toMatchObject({ created: true, threadId: derivedThreadId("laptop.example", "a/b:c d", "another") });
});

test("an imported thread can be forked before its first run, and both are told the history", async () => {
  const env = await startEnvironment();
  const { threadId } = await sendImport(env);
  const fork = await env.send({ type: "thread.fork", threadId, at: { kind: "latest_stable" } });
  expect(messagesOf(env, fork.threadId)).toEqual(threeTurns.map((m) => `${m.role}: ${m.text}`));
  const forkOfFork = await env.send({ type: "thread.fork", threadId: fork.threadId, at: { kind: "latest_stable" } });
  const [checkpoint] = env.threads.checkpoints(threadId);
  const atCheckpoint = await env.send({ type: "thread.fork", threadId, at: { kind: "checkpoint", checkpointId: checkpoint?.id as never } });
  for (const target of [fork.threadId, forkOfFork.threadId, atCheckpoint.threadId, threadId]) {
    expect((await env.say(target, "Who laid it?")).status).toBe("completed");
    const told = env.inputs("p1").at(-1)?.context ?? [];
    expect(told).toHaveLength(1);
    for (const { text } of threeTurns) expect(times(text, told[0] ?? ""), text).toBe(1);
  }
  await until(() => env.threads.transfers(threadId).every((t) => t.status === "consumed"), "the import is told");
  expect(env.inputs("p1").at(-1)?.context[0]?.startsWith(`${header}\n`)).toBe(true);
});

test("an import into a thread that was deleted makes nothing again and says so", async () => {
  const env = await startEnvironment();
  const { threadId } = await sendImport(env);
  await env.send({ type: "thread.delete", threadId });
  expect(await sendImport(env)).toMatchObject({ threadId, created: false, continuation: "none" });
  expect(env.threads.get(threadId)?.status).toBe("deleted");
  expect(env.threads.list()).toEqual([]);
});

test("an imported thread says which session of whom it was made from, and a fork of it does not claim to be that", async () => {
  const env = await startEnvironment();
  const { threadId } = await sendImport(env);
  const source = { environmentId: sourceEnvironmentId, threadId: sourceThreadId, handoffId: "h1" };
  expect(env.threads.get(threadId)?.importedFrom).toEqual(source);
  const fork = await env.send({ type: "thread.fork", threadId, at: { kind: "latest_stable" } });
  expect(env.threads.get(fork.threadId)?.importedFrom).toBeUndefined();
  const later = await env.restart();
  expect(later.threads.get(threadId)?.importedFrom).toEqual(source);
});
