import { createHash } from "node:crypto";
import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { ThreadId } from "../../schemas/ids.ts";
import type { ImportRequest } from "../../schemas/import.ts";
import { startEnvironment, type TestEnvironment, temporaryFolder, until } from "../support/environments.ts";
import { killedEnvironment } from "../support/killed-environment.ts";
import { messagesOf, times } from "../support/reading.ts";
import { git, makeRepository } from "../support/repository.ts";

const header = "Imported conversation history from before this thread ran here.";
const sourceEnvironmentId = "env:0197f000-0000-7000-8000-00000000e0f1";
const sourceThreadId = "thread:0197f000-0000-7000-8000-0000000074e5";

const threeTurns = [
  { role: "user" as const, text: "My ship is the Heliotrope." },
  { role: "assistant" as const, text: "Noted: the Heliotrope." },
  { role: "user" as const, text: "How long is her main rope?" },
  { role: "assistant" as const, text: "Forty fathoms." },
  { role: "user" as const, text: "Who laid it?" },
  { role: "assistant" as const, text: "The ropewalk at Chatham." },
];

function request(more: Partial<Record<keyof ImportRequest, unknown>> = {}) {
  return { handoffId: "h1", sourceEnvironmentId, sourceThreadId, title: "Ropes", messages: threeTurns, ...more };
}
const importing = (more: Partial<Record<keyof ImportRequest, unknown>> = {}) => ({ type: "thread.import", import: request(more) });
const send = (env: TestEnvironment, more: Partial<Record<keyof ImportRequest, unknown>> = {}) =>
  env.send(importing(more) as never) as Promise<ImportResult>;
type ImportResult = { threadId: ThreadId; created: boolean; runId: never; continuation: string };

/** Computed here once more, from the contract's words alone. */
function derivedThreadId(...parts: string[]): string {
  return `thread:import:${createHash("sha256").update(parts.join("\n"), "utf8").digest("hex").slice(0, 32)}`;
}

test("I01 a continuation that could not start is started by the retry, and nothing is imported twice", async () => {
  const env = await startEnvironment();
  const wanted = { continuationPrompt: "Who laid the rope?", provider: { instance: "p3", model: null } };
  const first = await send(env, wanted);
  expect(first).toMatchObject({ created: true, runId: null, continuation: "refused", refusal: { code: "provider_unavailable" } });
  expect(messagesOf(env, first.threadId)).toHaveLength(6);
  await env.close();

  const later = await startEnvironment({ dir: env.dir, scripts: { p1: null, p3: null } });
  const retry = await send(later, wanted);
  expect(retry).toMatchObject({ threadId: first.threadId, created: false, continuation: "started" });
  expect((await later.ended(retry.runId)).status).toBe("completed");
  expect(messagesOf(later, first.threadId)).toHaveLength(8);
  expect(await send(later, wanted)).toMatchObject({ created: false, continuation: "already", runId: retry.runId });
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
  const first = await send(env, { continuationPrompt: "Go on." });
  expect((await env.ended(first.runId)).status).toBe("failed");
  expect(await send(env, { continuationPrompt: "Go on." })).toMatchObject({ created: false, continuation: "already", runId: first.runId });
  expect(env.threads.runs(first.threadId)).toHaveLength(1);
});

test("I02 three turns are six messages in order before any run, and without a repository the conversation comes alone", async () => {
  const env = await startEnvironment();
  const { threadId, created } = await send(env, { messages: threeTurns.map((m, i) => ({ ...m, createdAt: 1_000 + i })) });
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
  const { threadId } = await send(env, { continuationPrompt: "Go on." });
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
  const { threadId, runId } = await send(env, { continuationPrompt: "Which ship?", provider: { instance, model: null } });
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
  const retry = await send(later, { continuationPrompt: "Go on." });
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
  const { threadId } = await send(env);
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
  expect(await send(env)).toMatchObject({ threadId, created: false });
});

test("an import repeated under other command ids, and together, makes one thread, one run and one provider turn", async () => {
  const env = await startEnvironment();
  const answers = await Promise.all(Array.from({ length: 8 }, () => send(env, { continuationPrompt: "Go on." })));
  expect(answers.filter((a) => a.created)).toHaveLength(1);
  expect(answers.filter((a) => a.continuation === "started")).toHaveLength(1);
  expect(new Set(answers.map((a) => `${a.threadId} ${a.runId}`)).size).toBe(1);
  const [{ threadId, runId }] = answers as [ImportResult];
  await env.ended(runId);
  expect(await send(env, { continuationPrompt: "Go on." })).toMatchObject({ created: false, continuation: "already", runId });
  expect(env.threads.list()).toHaveLength(1);
  expect(env.threads.runs(threadId)).toHaveLength(1);
  expect(env.threads.transfers(threadId)).toHaveLength(1);
  expect(messagesOf(env, threadId)).toHaveLength(8);
  expect(env.inputs("p1")).toHaveLength(1);
});

test("the thread id follows from source environment, source thread and handoff id alone; another handoff id is another thread", async () => {
  const env = await startEnvironment();
  const odd = { handoffId: "ein Übergang ⚓", sourceEnvironmentId: "laptop.example", sourceThreadId: "a/b:c d" };
  const { threadId } = await send(env, odd);
  expect(threadId).toBe(derivedThreadId("laptop.example", "a/b:c d", "ein Übergang ⚓"));
  const second = await send(env, { ...odd, handoffId: "another" });
  expect(second).toMatchObject({ created: true, threadId: derivedThreadId("laptop.example", "a/b:c d", "another") });
});

const char = "x";
test.each([
  ["more than 2,000 messages", { messages: Array.from({ length: 2_001 }, () => ({ role: "user", text: char })) }, "messages"],
  ["no message", { messages: [] }, "messages"],
  ["a message of more than 200,000 characters", { messages: [{ role: "user", text: char.repeat(200_001) }] }, "200000"],
  ["a prompt of more than 120,000 characters", { continuationPrompt: char.repeat(120_001) }, "continuationPrompt"],
  ["an empty prompt", { continuationPrompt: "" }, "continuationPrompt"],
  ["a title of more than 512 characters", { title: char.repeat(513) }, "title"],
  ["a handoff id of more than 128 characters", { handoffId: char.repeat(129) }, "handoffId"],
  ["an empty handoff id", { handoffId: "" }, "handoffId"],
  ["a newline in the handoff id", { handoffId: "a\nb" }, "handoffId"],
  ["a newline in the source thread", { sourceThreadId: "a\nb" }, "sourceThreadId"],
  ["a null character in the source environment", { sourceEnvironmentId: "a\0b" }, "sourceEnvironmentId"],
  ["a delete character in the handoff id", { handoffId: "a\u007fb" }, "handoffId"],
  ["a control character of the second set in the handoff id", { handoffId: "a\u0085b" }, "handoffId"],
  ["a lone surrogate in a message", { messages: [{ role: "user", text: "a\ud800b" }] }, "messages"],
  ["a lone surrogate in the prompt", { continuationPrompt: "\udc00" }, "continuationPrompt"],
  ["a lone surrogate in the title", { title: "a\ud83d" }, "title"],
  ["a lone surrogate in the handoff id", { handoffId: "h\ud800" }, "handoffId"],
  ["a lone surrogate in the source thread", { sourceThreadId: "t\ud800" }, "sourceThreadId"],
  ["a lone surrogate in the model's name", { provider: { instance: "p1", model: "m\ud800" } }, "model"],
  ["an unknown role", { messages: [{ role: "system", text: char }] }, "role"],
  ["a member that nobody knows", { surprise: true }, "surprise"],
])("an import with %s is refused by name, with nothing written", async (_what, more, named) => {
  const env = await startEnvironment();
  const commit = env.lastCommit;
  const receipt = await env.dispatch(importing(more as never));
  expect(receipt).toMatchObject({ ok: false, refusal: { code: "invalid_request", message: expect.stringContaining(named) } });
  expect(env.threads.list({ includeDeleted: true })).toEqual([]);
  expect(env.lastCommit).toBe(commit);
});

test("an import at each limit is taken: 2,000 messages, 200,000 characters, 120,000 for the prompt, 512 for the title, 128 for the handoff id", async () => {
  const env = await startEnvironment({ scripts: { p1: { openHang: true } } });
  const messages = Array.from({ length: 2_000 }, (_, i) => ({
    role: i % 2 === 0 ? "user" : "assistant",
    text: i === 7 ? "é".repeat(200_000) : `message ${i}`,
  }));
  const { threadId, created } = await send(env, {
    messages,
    continuationPrompt: "p".repeat(120_000),
    title: "t".repeat(512),
    handoffId: "h".repeat(128),
  });
  expect(created).toBe(true);
  const items = env.threads.items(threadId);
  expect(items).toHaveLength(2_001);
  const seventh = items[7]?.body;
  const digest = seventh?.kind === "assistant_message" && "blob" in seventh.content ? seventh.content.blob.digest : "";
  expect(new TextDecoder().decode(env.threads.blob(digest) ?? new Uint8Array())).toBe("é".repeat(200_000));
});

test("a request of more than 64 MiB is refused, and one just below it is taken", { timeout: 180_000 }, async () => {
  const env = await startEnvironment();
  // Three bytes of UTF-8 to a character: 112 messages of 200,000 characters are more than 64 MiB.
  const large = (count: number) => Array.from({ length: count }, () => ({ role: "user", text: "漢".repeat(200_000) }));
  const commit = env.lastCommit;
  expect(await env.dispatch(importing({ messages: large(112) }))).toMatchObject({
    ok: false,
    refusal: { code: "invalid_request", reason: "limit_exceeded", message: expect.stringContaining("67108864") },
  });
  expect(env.threads.list()).toEqual([]);
  expect(env.lastCommit).toBeLessThanOrEqual(commit + 1);
  const { threadId, created } = await send(env, { handoffId: "smaller", messages: large(111) });
  expect(created).toBe(true);
  expect(env.threads.items(threadId)).toHaveLength(111);
});

test("the limit of the whole request can be configured", async () => {
  const env = await startEnvironment({ config: { limits: { importRequestBytes: 2_000 } } });
  const messages = [{ role: "user", text: "漢".repeat(700) }];
  expect(await env.dispatch(importing({ messages }))).toMatchObject({
    ok: false,
    refusal: { code: "invalid_request", reason: "limit_exceeded", message: expect.stringContaining("2000") },
  });
  expect(await env.dispatch(importing())).toMatchObject({ ok: true });
});

test("an agent's import has at most the modes of its own run; without a wish it is narrowed to them", async () => {
  const env = await startEnvironment({ scripts: { p1: { rules: [{ match: {}, steps: [{ hang: true }] }] } } });
  const own = await env.newThread({ runtimeMode: "auto-accept-edits" });
  const { runId } = await env.send({
    type: "thread.send",
    threadId: own,
    text: "work",
    runtimeMode: "approval-required",
    interactionMode: "plan",
  });
  const caller = { kind: "thread", threadId: own, runId } as const;
  const refused = async (more: object, code: string) =>
    expect(await env.dispatch(importing(more), { caller })).toMatchObject({ ok: false, refusal: { code } });
  await refused({ runtimeMode: "auto-accept-edits" }, "runtime_mode_escalation_denied");
  await refused({ interactionMode: "default" }, "interaction_mode_escalation_denied");
  expect(env.threads.list()).toHaveLength(1);
  const { threadId } = (await env.send(importing() as never, { caller })) as ImportResult;
  expect(env.threads.get(threadId)?.modes).toEqual({ runtimeMode: "approval-required", interactionMode: "plan" });
});

test("an agent cannot start the continuation of an import that is broader than itself by repeating it", async () => {
  const env = await startEnvironment();
  const command = importing({ continuationPrompt: "Go on.", provider: { instance: "p3", model: null }, runtimeMode: "full-access" });
  await env.send(command as never);
  await env.close();
  const later = await startEnvironment({ dir: env.dir, scripts: { p1: { rules: [{ match: {}, steps: [{ hang: true }] }] }, p3: null } });
  const own = await later.newThread();
  const { runId } = await later.send({ type: "thread.send", threadId: own, text: "work" });
  const caller = { kind: "thread", threadId: own, runId } as const;
  expect(await later.dispatch(command, { caller })).toMatchObject({
    ok: true,
    result: { created: false, runId: null, continuation: "refused", refusal: { code: "runtime_mode_escalation_denied" } },
  });
  expect(await later.dispatch(command)).toMatchObject({ ok: true, result: { created: false, continuation: "started" } });
});

/** A repository with a worktree beside it, another repository, and ways to them by symlink. */
function repositories() {
  const dir = realpathSync(temporaryFolder());
  const [main, worktree, foreign] = [join(dir, "main"), join(dir, "worktree"), join(dir, "foreign")] as const;
  for (const folder of [main, foreign]) makeRepository(folder);
  git(main, "worktree", "add", worktree, "-b", "side");
  mkdirSync(join(worktree, "inner"));
  symlinkSync(worktree, join(dir, "way-in"));
  symlinkSync(foreign, join(main, "way-out"));
  return { dir, main, worktree, foreign };
}

test("a worktree of the project is where the import works, by its real path", async () => {
  const { dir, main, worktree } = repositories();
  const env = await startEnvironment();
  const { projectId } = await env.send({ type: "project.add", path: main });
  for (const [handoffId, path] of [
    ["a", worktree],
    ["b", join(dir, "way-in")],
    ["c", `${worktree}/../worktree/`],
    ["d", main],
  ] as const) {
    const { threadId, runId } = await send(env, { handoffId, projectId, worktreePath: path, continuationPrompt: "where are you?" });
    const real = handoffId === "d" ? main : worktree;
    expect(env.threads.get(threadId)).toMatchObject({ projectId, workspace: { strategy: "existing", path: real } });
    await env.ended(runId);
    expect(env.inputs("p1").at(-1)?.cwd).toBe(real);
  }
});

test("a folder that is none of the project's worktrees is refused, whatever leads to it, with nothing written", async () => {
  const { dir, main, worktree, foreign } = repositories();
  const plain = join(dir, "plain");
  mkdirSync(plain);
  mkdirSync(join(dir, "pretender"));
  writeFileSync(join(dir, "pretender", ".git"), `gitdir: ${join(main, ".git", "worktrees", "worktree")}\n`);
  const env = await startEnvironment();
  const { projectId } = await env.send({ type: "project.add", path: main });
  const paths = [
    foreign,
    join(main, "way-out"),
    plain,
    dir,
    join(worktree, "inner"),
    join(dir, "pretender"),
    join(dir, "not-there"),
    join(main, "rope.txt"),
    "/",
    "relative",
    "",
  ];
  for (const worktreePath of paths)
    expect(await env.dispatch(importing({ projectId, worktreePath })), worktreePath).toMatchObject({
      ok: false,
      refusal: { code: "invalid_request", reason: "not_a_worktree" },
    });
  expect(await env.dispatch(importing({ worktreePath: worktree }))).toMatchObject({ ok: false, refusal: { code: "invalid_request" } });
  expect(await env.dispatch(importing({ projectId: "project:0197f000-0000-7000-8000-000000000001" }))).toMatchObject({
    ok: false,
    refusal: { code: "invalid_request", reason: "unknown_project" },
  });
  expect(env.threads.list({ includeDeleted: true })).toEqual([]);
});

test("an imported thread can be forked before its first run, and both are told the history", async () => {
  const env = await startEnvironment();
  const { threadId } = await send(env);
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
  const { threadId } = await send(env);
  await env.send({ type: "thread.delete", threadId });
  expect(await send(env)).toMatchObject({ threadId, created: false, continuation: "none" });
  expect(env.threads.get(threadId)?.status).toBe("deleted");
  expect(env.threads.list()).toEqual([]);
});
