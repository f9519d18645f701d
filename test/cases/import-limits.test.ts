import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startEnvironment, temporaryFolder } from "../support/environments.ts";
import { type ImportResult, importing, sendImport } from "../support/imports.ts";
import { git, makeRepository } from "../support/repository.ts";

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
  const { threadId, created } = await sendImport(env, {
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
  const { threadId, created } = await sendImport(env, { handoffId: "smaller", messages: large(111) });
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
    const { threadId, runId } = await sendImport(env, { handoffId, projectId, worktreePath: path, continuationPrompt: "where are you?" });
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
