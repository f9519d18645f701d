import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { ThreadId } from "../../../schemas/ids.ts";
import { type TestEnvironment, until } from "../../support/environments.ts";
import { git } from "../../support/repository.ts";
import { fork, makeDirty, privateRefs, type Rig, startInRepository, worktreeOf, worktreesOf } from "./rig.ts";

async function forked(rig: Rig, prompt = "hello"): Promise<{ source: ThreadId; target: ThreadId; path: string }> {
  const source = await rig.env.newThread({ projectId: rig.projectId });
  await rig.env.say(source, "hello");
  const target = await fork(rig.env, source);
  await rig.env.say(target, prompt);
  return { source, target, path: worktreeOf(rig.env, target) };
}

const remove = (env: TestEnvironment, threadId: ThreadId, more = {}) => env.dispatch({ type: "thread.delete", threadId, ...more });

test("a deleted thread's worktree and private refs go with it", async () => {
  const rig = await startInRepository({ prepare: makeDirty });
  const { source, target, path } = await forked(rig);
  expect(await remove(rig.env, target)).toMatchObject({ ok: true });
  await until(() => !existsSync(path) && worktreesOf(rig.repository).length === 0, "the worktree to go");
  await until(() => privateRefs(rig.repository).length === 1, "its refs to go");
  expect(await remove(rig.env, source)).toMatchObject({ ok: true });
  await until(() => privateRefs(rig.repository).length === 0, "all refs to go");
});

test("a worktree with uncommitted work stays, and its thread with it, until somebody says that the work may go", async () => {
  const rig = await startInRepository();
  const { target, path } = await forked(rig, "write rope.txt changed");
  expect(await remove(rig.env, target)).toMatchObject({
    ok: false,
    refusal: { code: "invalid_request", reason: "uncommitted_work", details: { files: ["rope.txt"], count: 1, commits: 0 } },
  });
  expect(existsSync(path)).toBe(true);
  expect(rig.env.threads.get(target)?.status).toBe("idle");
  expect(await remove(rig.env, target, { discardWork: true })).toMatchObject({ ok: true });
  await until(() => !existsSync(path), "the worktree to go");
});

test("a file that is new, and a commit that no branch has, are uncommitted work too; a commit on a branch is not", async () => {
  const rig = await startInRepository();
  const { target, path } = await forked(rig);
  writeFileSync(join(path, "new.txt"), "new");
  expect(await remove(rig.env, target)).toMatchObject({ ok: false, refusal: { details: { files: ["new.txt"] } } });
  git(path, "add", ".");
  git(path, "commit", "-m", "by hand");
  expect(await remove(rig.env, target)).toMatchObject({ ok: false, refusal: { details: { files: [], commits: 1 } } });
  git(path, "switch", "-c", "kept");
  expect(await remove(rig.env, target)).toMatchObject({ ok: true });
  await until(() => !existsSync(path), "the worktree to go");
  expect(git(rig.repository, "log", "-1", "--format=%s", "kept").trim()).toBe("by hand");
});

test("a fork's source is deleted with --keep-forks: what the fork needs of it stays until the fork goes", async () => {
  const rig = await startInRepository();
  const { source, target } = await forked(rig);
  const before = privateRefs(rig.repository);
  expect(await remove(rig.env, source)).toMatchObject({ ok: false, refusal: { reason: "has_forks" } });
  expect(await remove(rig.env, source, { keepForks: true })).toMatchObject({ ok: true });
  expect(privateRefs(rig.repository)).toEqual(before);
  expect(await remove(rig.env, target)).toMatchObject({ ok: true });
  await until(() => privateRefs(rig.repository).length === 0, "all refs to go");
});

test("a worktree that somebody deleted fails the next run with what to do, and its thread can be forked and deleted", async () => {
  const rig = await startInRepository();
  const { target, path } = await forked(rig, "write rope.txt kept by the checkpoint");
  rmSync(path, { recursive: true });
  expect(await rig.env.say(target, "hello?")).toMatchObject({ status: "failed", error: { reason: "workspace_missing" } });
  const again = await fork(rig.env, target);
  await rig.env.say(again, "hello");
  expect(git(worktreeOf(rig.env, again), "diff", "--stat")).toContain("rope.txt");
  expect(await remove(rig.env, target, { keepForks: true })).toMatchObject({ ok: true });
  await until(() => worktreesOf(rig.repository).length === 1, "the repository to forget it");
});
