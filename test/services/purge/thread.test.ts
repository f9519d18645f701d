import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import type { ThreadId } from "../../../schemas/ids.ts";
import { filesWith, objectsWith } from "../../support/byte-search.ts";
import { type TestEnvironment, until } from "../../support/environments.ts";
import { fork, privateRefs, startInRepository, worktreeOf } from "../workspace/rig.ts";

const purged = (env: TestEnvironment, threadId: ThreadId) =>
  until(() => env.threads.get(threadId)?.purge?.doneAt != null, "its content to go", 60_000);
/** Without what the scripted provider keeps of its own accord. */
const inFolder = (env: TestEnvironment, text: string) => filesWith(env.dir, text).filter((path) => !path.includes("/providers/"));

test("a purged thread leaves an empty place: its words, worktree, refs and git objects are gone, its ids and statuses stay", {
  timeout: 120_000,
}, async () => {
  const { env, repository, projectId } = await startInRepository();
  const source = await env.newThread({ projectId });
  await env.say(source, "hello");
  const target = await fork(env, source);
  const large = `LONGWORD${"x".repeat(30_000)}`;
  const run = await env.say(target, "write key.txt WORDOFFILE and WORDOFMESSAGE");
  await env.say(target, large);
  const path = worktreeOf(env, target);
  const steps = env.threads.runs(target).map(({ id, status, ordinal }) => ({ id, status, ordinal }));
  expect(await env.dispatch({ type: "thread.purge", threadId: target })).toMatchObject({
    ok: false,
    refusal: { reason: "uncommitted_work" },
  });
  expect(await env.send({ type: "thread.purge", threadId: target, discardWork: true })).toMatchObject({ already: false, keptFor: [] });
  await purged(env, target);
  for (const word of ["WORDOFFILE", "WORDOFMESSAGE", "LONGWORD"]) {
    await until(() => inFolder(env, word).length === 0, `${word} to go: ${inFolder(env, word)}`);
    expect(objectsWith(repository, word)).toEqual([]);
  }
  expect(existsSync(path)).toBe(false);
  expect(privateRefs(repository)).toHaveLength(1);
  expect(env.threads.get(target)).toMatchObject({ status: "deleted", title: "", purge: { keptUpTo: null } });
  expect(env.threads.runs(target).map(({ id, status, ordinal }) => ({ id, status, ordinal }))).toEqual(steps);
  expect(env.threads.checkpoints(target)).toMatchObject([{ runId: run.id, workspace: null, workspaceNote: "purged" }, {}]);
  expect(await env.send({ type: "thread.purge", threadId: target })).toMatchObject({ already: true });
  // Everything else goes on.
  await env.say(source, "still here?");
  expect(env.health()).toMatchObject({ setAside: [], effectsSetAside: [] });
});

test("what a fork shows of a purged thread stays until the last such fork is gone, and nothing else of it does", {
  timeout: 120_000,
}, async () => {
  const { env, projectId } = await startInRepository();
  const source = await env.newThread({ projectId });
  await env.say(source, "SHOWNWORD is what the fork shows");
  const target = await fork(env, source);
  await env.say(source, "LATERWORD is what it does not");
  expect(await env.dispatch({ type: "thread.purge", threadId: source })).toMatchObject({ ok: false, refusal: { reason: "has_forks" } });
  expect(await env.send({ type: "thread.purge", threadId: source, keepForks: true })).toMatchObject({ keptFor: [target] });
  await until(() => env.threads.get(source)?.purge?.keptUpTo === 1, "it to be emptied behind run 1", 60_000);
  expect(inFolder(env, "LATERWORD")).toEqual([]);
  expect(JSON.stringify(env.threads.items(target))).toContain("SHOWNWORD");
  await env.say(target, "go on");
  await env.send({ type: "thread.delete", threadId: target });
  await purged(env, source);
  await until(() => inFolder(env, "SHOWNWORD").length === 0, "what the fork showed to go");
});

test("only a person can purge: neither an agent nor a client that was given everything", async () => {
  const { env } = await startInRepository();
  const threadId = await env.newThread();
  const modes = { runtimeMode: "full-access", interactionMode: "default" } as const;
  const access = ["reads", "writes", "writes_threads", "starts_threads", "writes_environment"] as const;
  for (const caller of [
    { kind: "thread", threadId, runId: null },
    { kind: "client", clientId: "client:local", maxModes: modes, access: [...access] },
  ] as const)
    expect(await env.dispatch({ type: "thread.purge", threadId }, { caller: caller as never })).toMatchObject({
      ok: false,
      refusal: { code: "capability_denied", reason: "person_only" },
    });
  expect(env.threads.get(threadId)?.status).toBe("idle");
});
