import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { MoveId } from "../../../schemas/ids.ts";
import type { Move } from "../../../schemas/move.ts";
import { temporaryFolder, until } from "../../support/environments.ts";
import { commit, handoffRefs, movingScene, type Scene, tipOf, write } from "../../support/moving-code.ts";
import { git } from "../../support/repository.ts";
import { filesOf, stateOf, worktreeOf, worktreesOf } from "./rig.ts";

async function move({ a, b, threadId }: Scene, more: Record<string, unknown> = {}): Promise<Move> {
  const { moveId } = await a.side.env.send({ type: "thread.move", threadId, environmentId: b.side.id, ...more });
  const decided = await a.side.env.moves.wait(moveId as MoveId, { timeoutMs: 30_000 });
  if (decided?.endedAt == null) throw new Error(`not decided: ${JSON.stringify(decided)}`);
  return decided;
}

/** Moves, and says where the files are now. Nothing of either checkout may have changed. */
async function arrived(at: Scene, more: Record<string, unknown> = {}): Promise<{ path: string; moved: Move }> {
  const before = [stateOf(at.a.repository), filesOf(at.b.repository), git(at.b.repository, "status", "--porcelain")];
  const moved = await move(at, more);
  expect(moved).toMatchObject({ status: "departed", error: null });
  expect([stateOf(at.a.repository), filesOf(at.b.repository), git(at.b.repository, "status", "--porcelain")]).toEqual(before);
  return { path: worktreeOf(at.b.side.env, moved.targetThreadId), moved };
}

test("what is changed, staged, new and deleted arrives uncommitted as it was; what is ignored stays", async () => {
  const at = await movingScene((a) => {
    write(a, "gone.txt", "will go");
    write(a, "old-name.txt", "to be renamed\n".repeat(20));
    commit(a, "second");
    git(a, "push", "-q", "origin", "main");
    rmSync(join(a, "gone.txt"));
    renameSync(join(a, "old-name.txt"), join(a, "new-name.txt"));
    write(a, "rope.txt", "one\ntwo changed\nthree\n");
    write(a, "staged.txt", "staged");
    git(a, "add", "staged.txt");
    write(a, "new.txt", "untracked");
    write(a, "ignored.txt", "ignored");
  });
  const { path } = await arrived(at);
  const { "ignored.txt": _stays, ...expected } = filesOf(at.a.repository);
  expect(filesOf(path)).toEqual(expected);
  expect(git(path, "rev-parse", "HEAD")).toBe(git(at.a.repository, "rev-parse", "HEAD"));
  expect(git(path, "diff", "HEAD", "--name-status", "-M").trim().split("\n").sort()).toEqual([
    "D\tgone.txt",
    "D\told-name.txt",
    "M\trope.txt",
  ]);
});

test("binary files, modes, symbolic links and names that are not plain arrive as they were", async () => {
  const at = await movingScene((a) => {
    write(a, "tool.sh", "#!/bin/sh\n");
    chmodSync(join(a, "tool.sh"), 0o755);
    symlinkSync("tool.sh", join(a, "link"));
    symlinkSync("/nowhere/at all", join(a, "broken link"));
    write(a, "binary", Buffer.from([0, 1, 2, 255, 0, 13, 10, 13]));
    write(a, 'two\nlines "quoted" é', "name");
  });
  const { path } = await arrived(at);
  expect(filesOf(path)).toEqual(filesOf(at.a.repository));
});

test("a submodule arrives as the commit that it stood at, and files behind a filter as the pointers that they are", async () => {
  let pinned = "";
  const at = await movingScene((a) => {
    const inner = join(temporaryFolder(), "inner");
    mkdirSync(inner);
    git(inner, "init", "-q");
    write(inner, "inner.txt", "inner");
    pinned = commit(inner, "inner");
    git(a, "-c", "protocol.file.allow=always", "submodule", "add", "-q", inner, "part");
    write(a, ".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n");
    write(a, "large.bin", `version https://git-lfs.github.com/spec/v1\noid sha256:${"ab".repeat(32)}\nsize 12345\n`);
    git(a, "config", "filter.lfs.clean", "false");
    git(a, "config", "filter.lfs.smudge", "false");
    git(a, "-c", "filter.lfs.clean=cat", "add", "-A");
    git(a, "-c", "filter.lfs.clean=cat", "commit", "-q", "-m", "with a part");
  });
  const { path } = await arrived(at);
  expect(git(path, "ls-tree", "HEAD", "part")).toContain(`160000 commit ${pinned}`);
  expect(readFileSync(join(path, "large.bin"), "utf8")).toBe(readFileSync(join(at.a.repository, "large.bin"), "utf8"));
  expect(git(path, "-c", "filter.lfs.clean=cat", "status", "--porcelain")).toBe("");
});

test("unpushed commits arrive; a branch that is not there is made, one that is behind goes forward, to descendants alone", async () => {
  const at = await movingScene((a, b) => {
    git(b, "branch", "feature");
    git(a, "switch", "-q", "-c", "feature");
    write(a, "feature.txt", "1");
    commit(a, "unpushed");
  });
  const head = git(at.a.repository, "rev-parse", "feature").trim();
  const { path } = await arrived(at);
  expect(git(path, "rev-parse", "HEAD").trim()).toBe(head);
  expect(tipOf(at.b.repository, "refs/heads/feature")).toBe(head);
  expect(git(path, "log", "-1", "--format=%s").trim()).toBe("unpushed");
  expect(handoffRefs(at.b.repository)).toEqual([]);
});

test("a branch that is checked out there is not moved under anybody's feet, and is named; one that is ahead stays where it is", async () => {
  const at = await movingScene((a) => {
    write(a, "more.txt", "1");
    commit(a, "unpushed on main");
  });
  const before = tipOf(at.b.repository, "refs/heads/main");
  const { moved, path } = await arrived(at);
  expect(tipOf(at.b.repository, "refs/heads/main")).toBe(before);
  expect(moved.left).toEqual([expect.stringContaining("main is checked out in")]);
  expect(existsSync(join(path, "more.txt"))).toBe(true);
});

test("a branch that went another way there is left, what came is parked under a ref of its own, and the thread is released", async () => {
  const at = await movingScene((a, b) => {
    for (const [folder, text] of [[a, "here"] as const, [b, "there"] as const]) {
      git(folder, "switch", "-q", "-c", "feature");
      write(folder, "feature.txt", text);
      commit(folder, text);
    }
    git(b, "switch", "-q", "main");
  });
  const [here, there] = [at.a.repository, at.b.repository].map((folder) => git(folder, "rev-parse", "feature").trim()) as [string, string];
  const decided = await move(at);
  const parked = `refs/handoff/${at.a.side.id.slice(4)}/${decided.id.slice(5)}/feature`;
  expect(decided).toMatchObject({ status: "failed", error: { reason: "branch_diverged", details: { branch: "feature", parked } } });
  expect([tipOf(at.b.repository, "refs/heads/feature"), tipOf(at.b.repository, parked)]).toEqual([there, here]);
  expect(at.b.side.env.threads.list()).toEqual([]);
  expect(worktreesOf(at.b.repository)).toEqual([]);
  expect(await at.a.side.env.say(at.threadId, "write after.txt x")).toMatchObject({ status: "completed" });
  // Said so, the conversation moves alone.
  expect(await move(at, { withoutCode: true })).toMatchObject({ status: "departed" });
});

test("an agent goes on there in the thread's own worktree, and the work comes home the same way", async () => {
  const at = await movingScene();
  const { moved, path } = await arrived(at, { continuationPrompt: "write there.txt done" });
  await until(() => at.b.side.env.threads.get(moved.targetThreadId)?.status === "idle", "the continuation to end");
  expect(readFileSync(join(path, "there.txt"), "utf8")).toBe("done");
  const home = await move({ a: at.b, b: at.a, threadId: moved.targetThreadId });
  expect(home).toMatchObject({ status: "departed", error: null });
  const back = worktreeOf(at.a.side.env, home.targetThreadId);
  expect(readFileSync(join(back, "there.txt"), "utf8")).toBe("done");
  expect(existsSync(join(at.a.repository, "there.txt"))).toBe(false);
});

test("a repository that the other side does not know is said before anything departs", async () => {
  const at = await movingScene();
  const other = join(temporaryFolder(), "other");
  mkdirSync(other);
  git(other, "init", "-q");
  write(other, "x", "x");
  commit(other, "x");
  const { projectId } = await at.a.side.env.send({ type: "project.add", path: other });
  const threadId = await at.a.side.env.newThread({ projectId });
  await at.a.side.env.say(threadId, "hello");
  const decided = await move({ ...at, threadId });
  expect(decided).toMatchObject({ status: "failed", departingAt: null, lacks: [{ what: "project" }] });
});

test("a fork that never ran brings the files of the checkpoint that it was made at", async () => {
  const at = await movingScene();
  await at.a.side.env.say(at.threadId, "write kept.txt at the fork");
  const fork = await at.a.side.env.send({ type: "thread.fork", threadId: at.threadId, at: { kind: "latest_stable" } });
  await at.a.side.env.say(at.threadId, "write kept.txt later");
  const { path } = await arrived({ ...at, threadId: fork.threadId });
  expect(readFileSync(join(path, "kept.txt"), "utf8")).toBe("at the fork");
});
