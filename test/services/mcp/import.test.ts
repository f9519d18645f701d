import { createHash } from "node:crypto";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { expect, test } from "vitest";
import { ImportRequest } from "../../../schemas/import.ts";
import { limits } from "../../../schemas/limits.ts";
import { measuredDigest } from "../../../services/runtime/digest.ts";
import { openDoor } from "../../support/door.ts";
import { temporaryFolder } from "../../support/environments.ts";
import { OAuthProgram } from "../../support/oauth-program.ts";
import { messagesOf, times } from "../../support/reading.ts";
import { git, makeRepository } from "../../support/repository.ts";
import { asTestClient, clientCaller, type Rig, startMcp, type TestClient } from "./rig.ts";

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

const text = (chars: number) => "x".repeat(chars);
const spoken = (chars: number) => [{ role: "user", text: text(chars) }];
const many = (count: number) => Array.from({ length: count }, () => messages[0]);

/** Every limit of the contract (§6) but the whole request's: what is refused names it. */
const bounds: [name: string, most: number, of: (size: number) => object, named?: string][] = [
  ["messages", 2_000, (size) => ({ messages: many(size) })],
  ["characters of a message", 200_000, (size) => ({ messages: spoken(size) }), "messages.0.text"],
  ["characters of the continuationPrompt", 120_000, (size) => ({ continuationPrompt: text(size) }), "continuationPrompt"],
  ["characters of the title", 512, (size) => ({ title: text(size) }), "title"],
  ["characters of the handoffId", 128, (size) => ({ handoffId: text(size) }), "handoffId"],
];

test.each(bounds)(
  "an import takes as many %s as %i, and one more is an invalid request that names it and writes nothing",
  async (name, most, of, named = name) => {
    const { rig, client } = await start();
    const before = rig.env.lastCommit;
    const refusal = await client.refused("t3_thread_import", request(of(most + 1)));
    expect(refusal).toMatchObject({ code: "invalid_request", reason: "limit_exceeded", message: expect.stringContaining(named) });
    expect(refusal.message).toContain(String(most));
    expect(rig.env.lastCommit).toBe(before);
    const taken = await client.use("t3_thread_import", request(of(most)));
    expect(taken).toMatchObject({ created: true });
    if (taken.runId !== null) await rig.env.ended(taken.runId);
  },
);

test("nothing is too little but no message and no continuation prompt at all", async () => {
  const { rig, client } = await start();
  for (const none of [{ messages: [] }, { continuationPrompt: "" }, { handoffId: "" }])
    expect(await client.refused("t3_thread_import", request(none))).toMatchObject({ code: "invalid_request" });
  expect(await client.use("t3_thread_import", request({ messages: spoken(1), title: "" }))).toMatchObject({ created: true });
  expect(rig.env.threads.list()).toHaveLength(1);
});

test("the whole request is bounded to the byte, as configured; what is far too large is refused before it is read", async () => {
  const wanted = request({ messages: spoken(40_000) });
  const { bytes } = measuredDigest(ImportRequest.parse(wanted));
  const at = async (importRequestBytes: number) => {
    const config = { limits: { importRequestBytes } } as never;
    const rig = await startMcp({ config, app: { maxBodyBytes: 60_000 } });
    return { rig, client: await rig.connect(rig.let(clientCaller())) };
  };
  const within = await at(bytes);
  expect(await within.client.use("t3_thread_import", wanted)).toMatchObject({ created: true });
  const beyond = await at(bytes - 1);
  expect(await beyond.client.refused("t3_thread_import", wanted)).toMatchObject({
    code: "invalid_request",
    reason: "limit_exceeded",
    message: expect.stringContaining("importRequestBytes"),
  });
  await expect(beyond.client.use("t3_thread_import", request({ messages: spoken(70_000) }))).rejects.toThrow(/413|larger/);
  expect(beyond.rig.env.threads.list()).toEqual([]);
});

test("64 MiB pass through the network's door unless configured otherwise, and one byte more does not", async () => {
  const { mcpUrl, pair, env } = await openDoor();
  const program = new OAuthProgram();
  await program.pair(mcpUrl, (await pair()).code);
  const client = asTestClient(new Client({ name: "ferry", version: "1" }));
  await client.connect(program.transport(mcpUrl));
  const call = { timeout: 60_000 };
  /** A request of so many bytes, of which the last message fills what is left. */
  const sized = (bytes: number) => {
    const whole = (last: number) => request({ messages: [...Array.from({ length: 335 }, () => spoken(200_000)[0]), ...spoken(last)] });
    const rest = bytes - measuredDigest(ImportRequest.parse(whole(1))).bytes + 1;
    return whole(rest);
  };
  await expect(client.use("t3_thread_import", sized(limits.importRequestBytes + 1), call)).rejects.toThrow(/importRequestBytes/);
  expect(env.threads.list()).toEqual([]);
  expect(await client.use("t3_thread_import", sized(limits.importRequestBytes), call)).toMatchObject({ created: true });
  await client.close();
}, 120_000);

test("an import works in one of the project's worktrees, by its real path, and nowhere else", async () => {
  const { rig, client } = await start();
  const dir = temporaryFolder();
  const [main, worktree, foreign] = [join(dir, "main"), join(dir, "worktree"), join(dir, "foreign")] as const;
  makeRepository(main);
  makeRepository(foreign);
  git(main, "worktree", "add", worktree, "-b", "side");
  mkdirSync(join(worktree, "inner"));
  symlinkSync(worktree, join(dir, "way-in"));
  symlinkSync(foreign, join(dir, "way-out"));
  const { projectId } = await rig.env.send({ type: "project.add", path: main });
  const outside = ["/", dir, foreign, join(dir, "way-out"), join(worktree, "inner"), join(dir, "none"), "worktree", "", "\0"];
  for (const worktreePath of outside)
    expect(await client.refused("t3_thread_import", request({ projectId, worktreePath })), worktreePath).toMatchObject({
      code: "invalid_request",
      reason: "not_a_worktree",
    });
  expect(rig.env.threads.list({ includeDeleted: true })).toEqual([]);
  for (const [handoffId, worktreePath] of Object.entries({ h1: main, h2: worktree, h3: join(dir, "way-in") })) {
    const { threadId } = await client.use("t3_thread_import", request({ handoffId, projectId, worktreePath }));
    expect(rig.env.threads.get(threadId)?.workspace).toMatchObject({ path: handoffId === "h1" ? main : worktree });
  }
  // The scratch folder is a project without a repository: it is its own only folder.
  const [scratch] = rig.env.projects.list();
  const inScratch = request({ handoffId: "h4", projectId: scratch?.id, worktreePath: scratch?.path });
  expect(await client.use("t3_thread_import", inScratch)).toMatchObject({ created: true });
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
