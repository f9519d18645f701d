import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { until } from "../../support/environments.ts";
import { git } from "../../support/repository.ts";
import { fork, makeDirty, startInRepository, worktreeOf } from "./rig.ts";

test("ignored files come into a worktree only as the project says, and its setup command runs once, before the first run", async () => {
  const { env, repository, projectId } = await startInRepository({ prepare: makeDirty });
  await env.send({ type: "project.configure", projectId, carry: [".env"], setup: 'echo "$ROPEWALK_PROJECT" >> setup.log' });
  const source = await env.newThread({ projectId });
  await env.say(source, "hello");
  const target = await fork(env, source);
  await env.say(target, "hello");
  await env.say(target, "again");
  const path = worktreeOf(env, target);
  expect(readFileSync(join(path, ".env"), "utf8")).toBe("SECRET=1");
  expect(existsSync(join(path, "ignored.txt"))).toBe(false);
  expect(readFileSync(join(path, "setup.log"), "utf8")).toBe(`${repository}\n`);
  expect(existsSync(join(repository, "setup.log"))).toBe(false);
});

test("a setup command that fails fails the run with what it said; the next run tries it again in the same worktree", async () => {
  const { env, repository, projectId } = await startInRepository();
  await env.send({ type: "project.configure", projectId, setup: 'echo "no luck"; test -f "$ROPEWALK_PROJECT/allowed"' });
  const source = await env.newThread({ projectId });
  await env.say(source, "hello");
  const target = await fork(env, source);
  const failed = await env.say(target, "hello");
  expect(failed).toMatchObject({ status: "failed", error: { reason: "setup_failed", details: { output: "no luck\n" } }, acceptedAt: null });
  expect(env.threads.transfers(target)).toMatchObject([{ type: "fork", claim: null }]);
  writeFileSync(join(repository, "allowed"), "");
  expect(await env.say(target, "hello")).toMatchObject({ status: "completed" });
  expect(env.threads.transfers(target)[0]).toMatchObject({ type: "fork", status: "consumed" });
});

test("stopping a run while its worktree is set up ends the command, and the thread can go on", async () => {
  const { env, projectId } = await startInRepository();
  await env.send({ type: "project.configure", projectId, setup: "touch begun; test -f ../quick || sleep 60" });
  const source = await env.newThread({ projectId });
  await env.say(source, "hello");
  const target = await fork(env, source);
  const { runId } = await env.send({ type: "thread.send", threadId: target, text: "hello" });
  const folder = join(env.dir, "worktrees");
  await until(() => existsSync(join(folder, target.slice("thread:".length), "begun")), "the setup to begin");
  expect(env.runs.get(runId)?.status).toBe("placing");
  await env.send({ type: "thread.interrupt", threadId: target });
  expect((await env.ended(runId)).status).toBe("interrupted");
  writeFileSync(join(folder, "quick"), "");
  expect(await env.say(target, "hello")).toMatchObject({ status: "completed" });
});

test("only a person says what runs in new worktrees, and no pattern leads out of the project", async () => {
  const { env, projectId } = await startInRepository();
  const thread = await env.newThread({ projectId });
  const configure = (more: object, caller?: object) =>
    env.dispatch({ type: "project.configure", projectId, ...more }, caller === undefined ? {} : { caller: caller as never });
  expect(await configure({ setup: "true" }, { kind: "thread", threadId: thread, runId: null })).toMatchObject({
    ok: false,
    refusal: { code: "capability_denied" },
  });
  for (const pattern of ["../x", "/etc/passwd", "a/../../b"])
    expect(await configure({ carry: [pattern] })).toMatchObject({ ok: false, refusal: { code: "invalid_request" } });
});

test("a thread may be given a worktree that is there, but not one that was made for another thread", async () => {
  const { env, repository, projectId } = await startInRepository();
  const side = join(env.dir, "side");
  git(repository, "worktree", "add", "-q", "--detach", side);
  const workspace = { strategy: "existing", path: side };
  const first = await env.newThread({ projectId, workspace });
  await env.say(first, "hello");
  expect(await env.dispatch({ type: "thread.create", projectId, workspace })).toMatchObject({ ok: true });
  const target = await fork(env, first);
  await env.say(target, "hello");
  const own = { strategy: "existing", path: worktreeOf(env, target) };
  expect(await env.dispatch({ type: "thread.create", projectId, workspace: own })).toMatchObject({
    ok: false,
    refusal: { reason: "worktree_taken", details: { threadId: target } },
  });
});

test("a project whose folder is in no repository has no worktrees: its forks work in the folder", async () => {
  const { env, repository } = await startInRepository();
  rmSync(join(repository, ".git"), { recursive: true });
  const { projectId } = await env.send({ type: "project.add", path: repository });
  const source = await env.newThread({ projectId });
  await env.say(source, "hello");
  const target = await fork(env, source);
  expect(await env.say(target, "hello")).toMatchObject({ status: "completed" });
  expect(env.threads.get(target)?.workspace).toEqual({ strategy: "root" });
});

test("a fork whose project's folder is gone fails its run, and is not given the folder of somebody else", async () => {
  const { env, repository, projectId } = await startInRepository();
  const source = await env.newThread({ projectId });
  await env.say(source, "hello");
  const target = await fork(env, source);
  rmSync(repository, { recursive: true });
  expect(await env.say(target, "hello")).toMatchObject({ status: "failed", error: { reason: "workspace_missing" } });
  expect(env.threads.get(target)?.workspace).toEqual({ strategy: "worktree", path: null });
});
