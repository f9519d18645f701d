import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { limits } from "../../../schemas/limits.ts";
import { messagesOf, times } from "../../support/reading.ts";
import { clientCaller, type Rig, startMcp, type TestClient } from "./rig.ts";

const header = "Imported conversation history from before this thread ran here.";
const source = { sourceEnvironmentId: "env-of-elsewhere", sourceThreadId: "thread-of-elsewhere" };
const messages = [
  { role: "user", text: "The codeword is tarred hemp." },
  { role: "assistant", text: "I keep it: tarred hemp." },
];
const request = (more: object = {}) => ({ ...source, handoffId: "h1", title: "Codewords", messages, ...more });

async function start(): Promise<{ rig: Rig; client: TestClient }> {
  const rig = await startMcp({ scripts: { p1: { rules: [{ match: { contains: "codeword?" }, steps: [{ recall: "tarred \\w+" }] }] } } });
  return { rig, client: await rig.connect(rig.let(clientCaller())) };
}

test("an import with a continuation answers from the history, once, and its retry finds the same thread with created false", async () => {
  const { rig, client } = await start();
  const first = await client.use("t3_thread_import", request({ continuationPrompt: "What is the codeword?" }));
  expect(first).toMatchObject({ created: true, continuation: "started" });
  const digest = createHash("sha256").update("env-of-elsewhere\nthread-of-elsewhere\nh1").digest("hex");
  expect(first.threadId).toBe(`thread:import:${digest.slice(0, 32)}`);
  const waited = await client.use("t3_thread_wait", { threadId: first.threadId, runId: first.runId, waitSeconds: 20 });
  expect(waited).toMatchObject({ status: "completed", answer: "tarred hemp" });
  expect(rig.env.threads.get(first.threadId)).toMatchObject({ historyOrigin: "v1_import", createdBy: "user" });

  const before = { messages: messagesOf(rig.env, first.threadId), inputs: rig.env.inputs("p1").length, commit: rig.env.lastCommit };
  const other = await rig.connect(rig.let(clientCaller({ clientId: "client:another" as never })), { era: "legacy" });
  for (const caller of [client, other])
    expect(await caller.use("t3_thread_import", request({ continuationPrompt: "What is the codeword?" }))).toMatchObject({
      threadId: first.threadId,
      created: false,
      runId: first.runId,
      continuation: "already",
    });
  expect(messagesOf(rig.env, first.threadId)).toEqual(before.messages);
  expect(rig.env.inputs("p1")).toHaveLength(before.inputs);
  expect(rig.env.threads.runs(first.threadId)).toHaveLength(1);
  const told = rig.env.inputs("p1").flatMap((input) => input.context);
  expect(told.map((text) => times(header, text))).toEqual([1]);
});

test("another handoff id is another thread; the same ids with other content are a conflict", async () => {
  const { rig, client } = await start();
  const first = await client.use("t3_thread_import", request());
  const second = await client.use("t3_thread_import", request({ handoffId: "h2" }));
  expect(second).toMatchObject({ created: true, continuation: "none" });
  expect(second.threadId).not.toBe(first.threadId);
  expect(await client.refused("t3_thread_import", request({ messages: messages.slice(1) }))).toMatchObject({
    code: "idempotency_conflict",
    reason: "import_differs",
  });
  expect(rig.env.threads.list()).toHaveLength(2);
});

test("an import that was refused is decided anew, since its handoff id is its key and not its command id", async () => {
  const { rig, client } = await start();
  const projectId = "project:0197f000-0000-7000-8000-000000000001";
  expect(await client.refused("t3_thread_import", request({ projectId }))).toMatchObject({ reason: "unknown_project" });
  expect(await client.use("t3_thread_import", request())).toMatchObject({ created: true });
  expect(rig.env.threads.list()).toHaveLength(1);
});

test.each([
  ["messages", { messages: Array.from({ length: limits.importMessages + 1 }, () => messages[0]) }],
  ["messages.0.text", { messages: [{ role: "user", text: "x".repeat(limits.importMessageChars + 1) }] }],
  ["continuationPrompt", { continuationPrompt: "x".repeat(limits.importPromptChars + 1) }],
  ["title", { title: "x".repeat(limits.titleChars + 1) }],
  ["handoffId", { handoffId: "x".repeat(limits.handoffIdChars + 1) }],
])("an import beyond the limit of %s is an invalid request that names it, and nothing is written", async (member, beyond) => {
  const { rig, client } = await start();
  const before = rig.env.lastCommit;
  const refusal = await client.refused("t3_thread_import", request(beyond));
  expect(refusal).toMatchObject({ code: "invalid_request", reason: "limit_exceeded", message: expect.stringContaining(member) });
  expect(rig.env.lastCommit).toBe(before);
});

test("an import at its limits passes through this door, and the request's own limit holds here, too", async () => {
  const env = {
    environment: { id: "env:0197f000-0000-7000-8000-00000000e001" as never, name: "test" },
    limits: { importRequestBytes: 30_000 },
  };
  const rig = await startMcp({ config: env as never, app: { maxBodyBytes: 60_000 } });
  const client = await rig.connect(rig.let(clientCaller()));
  expect(await client.refused("t3_thread_import", request({ messages: [{ role: "user", text: "x".repeat(40_000) }] }))).toMatchObject({
    code: "invalid_request",
    reason: "limit_exceeded",
    message: expect.stringContaining("importRequestBytes"),
  });
  await expect(client.use("t3_thread_import", request({ messages: [{ role: "user", text: "x".repeat(70_000) }] }))).rejects.toThrow(
    /413|larger/,
  );
  expect(await client.use("t3_thread_import", request({ title: "x".repeat(limits.titleChars) }))).toMatchObject({ created: true });
});

test("a folder that is not one of the project's worktrees is refused", async () => {
  const { rig, client } = await start();
  const [project] = rig.env.projects.list();
  expect(await client.refused("t3_thread_import", request({ projectId: project?.id, worktreePath: "/" }))).toMatchObject({
    code: "invalid_request",
    reason: "not_a_worktree",
  });
  expect(await client.use("t3_thread_import", request({ projectId: project?.id, worktreePath: project?.path }))).toMatchObject({
    created: true,
  });
});

test("nobody starts a continuation in an import that is broader than themselves", async () => {
  const { rig, client } = await start();
  const wanted = request({ continuationPrompt: "codeword?", runtimeMode: "full-access", provider: { instance: "p7", model: null } });
  expect(await client.use("t3_thread_import", wanted)).toMatchObject({
    created: true,
    continuation: "refused",
    refusal: { code: "provider_unavailable" },
  });
  const narrow = await rig.connect(rig.let(clientCaller({ maxModes: { runtimeMode: "auto", interactionMode: "default" } })));
  expect(await narrow.use("t3_thread_import", wanted)).toMatchObject({
    created: false,
    continuation: "refused",
    refusal: { code: "runtime_mode_escalation_denied" },
  });
});
