import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { git } from "../../support/repository.ts";
import { fork, makeDirty, privateRefs, startInRepository, stateOf, worktreeOf, worktreesOf } from "./rig.ts";

const read = (folder: string, name: string) => readFileSync(join(folder, name), "utf8");

test("a fork gets a worktree of its own when its first run starts, as its source's checkpoint was, and the user's folder stays as it is", async () => {
  const { env, repository, projectId } = await startInRepository({ prepare: makeDirty });
  const before = stateOf(repository);
  const source = await env.newThread({ projectId });
  await env.say(source, "hello");
  const forked = await fork(env, source);
  expect(env.threads.get(forked)?.workspace).toEqual({ strategy: "worktree", path: null });
  expect(worktreesOf(repository)).toEqual([]);

  // The user goes on after the checkpoint: that is not the fork's.
  writeFileSync(join(repository, "new.txt"), "changed later");
  const run = await env.say(forked, "write rope.txt one\ntwo by the fork\nthree\n");
  expect(run).toMatchObject({ status: "completed" });
  const path = worktreeOf(env, forked);
  expect(path.startsWith(env.dir)).toBe(true);
  expect(worktreesOf(repository)).toEqual([path]);
  expect(read(path, "rope.txt")).toBe("one\ntwo by the fork\nthree\n");
  expect(read(path, "new.txt")).toBe("untracked");
  expect(existsSync(join(path, "gone.txt"))).toBe(false);
  expect(existsSync(join(path, "ignored.txt"))).toBe(false);
  expect(env.inputs().at(-1)?.cwd).toBe(path);
  // What was not committed there is not committed here; nothing is on a branch.
  expect(git(path, "status", "--porcelain").split("\n").filter(Boolean).sort()).toEqual([
    " D gone.txt",
    " M rope.txt",
    "?? new.txt",
    "?? staged.txt",
  ]);
  expect(git(path, "rev-parse", "HEAD")).toBe(git(repository, "rev-parse", "HEAD"));
  expect(git(path, "branch", "--show-current")).toBe("");

  writeFileSync(join(repository, "new.txt"), "untracked");
  expect(stateOf(repository)).toEqual(before);
  expect(privateRefs(repository)).toHaveLength(3);
});

test("a child gets a worktree of its own, as its parent's folder is when it starts", async () => {
  const { env, repository, projectId } = await startInRepository({ prepare: makeDirty });
  const before = stateOf(repository);
  const parent = await env.newThread({ projectId });
  const { childThreadId, runId } = await env.send({ type: "task.spawn", parentThreadId: parent, prompt: "write rope.txt by the child" });
  await env.ended(runId!);
  const path = worktreeOf(env, childThreadId!);
  expect(read(path, "rope.txt")).toBe("by the child");
  expect(read(path, "new.txt")).toBe("untracked");
  expect(stateOf(repository)).toEqual(before);
});

test("a thread of one's own works in the project's folder", async () => {
  const { env, repository, projectId } = await startInRepository();
  const thread = await env.newThread({ projectId });
  await env.say(thread, "write rope.txt mine");
  expect(read(repository, "rope.txt")).toBe("mine");
  expect(worktreesOf(repository)).toEqual([]);
});

test("an import that asks for it is gone on with in a worktree of its own", async () => {
  const { env, repository, projectId } = await startInRepository({ prepare: makeDirty });
  const before = stateOf(repository);
  const imported = {
    handoffId: "h1",
    sourceEnvironmentId: "elsewhere",
    sourceThreadId: "s1",
    projectId,
    messages: [{ role: "user" as const, text: "remember the rope" }],
  };
  const { threadId } = await env.send({ type: "thread.import", import: imported, ownWorktree: true });
  await env.say(threadId, "write rope.txt imported");
  expect(read(worktreeOf(env, threadId), "rope.txt")).toBe("imported");
  expect(stateOf(repository)).toEqual(before);
});
