import { chmodSync, mkdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { changedFiles } from "../../../services/workspace/diff.ts";
import { setRef } from "../../../services/workspace/refs.ts";
import { commitState, readFolder } from "../../../services/workspace/snapshot.ts";
import { makeWorktree } from "../../../services/workspace/worktree.ts";
import { temporaryFolder } from "../../support/environments.ts";
import { git, makeRepository } from "../../support/repository.ts";
import { filesOf, makeDirty, stateOf } from "./rig.ts";

function repository(): string {
  const folder = join(temporaryFolder(), "rope");
  makeRepository(folder);
  return folder;
}

/** Keeps a folder's state, and makes a worktree of it. */
async function copied(folder: string): Promise<{ path: string; commit: string; leftOut: unknown[] }> {
  const scratch = temporaryFolder();
  const { commit, leftOut } = await commitState(folder, await readFolder(folder, scratch), "test", 1_000_000);
  await setRef(folder, "refs/ropewalk/test", commit);
  const path = join(scratch, "copy");
  await makeWorktree(folder, path, commit, () => {});
  return { path, commit, leftOut };
}

test("everything that is not ignored is kept as it is, and nothing of the repository's own is touched", async () => {
  const folder = repository();
  makeDirty(folder);
  const before = stateOf(folder);
  const { path } = await copied(folder);
  const { "ignored.txt": _i, ".env": _e, ...expected } = filesOf(folder);
  expect(filesOf(path)).toEqual(expected);
  expect(stateOf(folder)).toEqual(before);
});

test("links, modes, binary files and names that are not plain come back as they were", async () => {
  const folder = repository();
  writeFileSync(join(folder, "tool.sh"), "#!/bin/sh\n");
  chmodSync(join(folder, "tool.sh"), 0o755);
  symlinkSync("tool.sh", join(folder, "link"));
  symlinkSync("/nowhere/at all", join(folder, "broken link"));
  writeFileSync(join(folder, "binary"), Buffer.from([0, 1, 2, 255, 0, 13, 10]));
  writeFileSync(Buffer.concat([Buffer.from(`${folder}/latin-`), Buffer.of(0xe9)]), "name is no UTF-8");
  writeFileSync(join(folder, 'new\nline "quoted" é'), "name of two lines");
  const { path } = await copied(folder);
  expect(filesOf(path)).toEqual(filesOf(folder));
  expect(readFileSync(Buffer.concat([Buffer.from(`${path}/latin-`), Buffer.of(0xe9)]), "utf8")).toBe("name is no UTF-8");
});

test("a file that became a folder, a folder that became a file, and a conflict under way are kept as they lie there", async () => {
  const folder = repository();
  mkdirSync(join(folder, "deep"));
  writeFileSync(join(folder, "deep", "inner"), "inner");
  writeFileSync(join(folder, "flat"), "flat");
  git(folder, "add", ".");
  git(folder, "commit", "-m", "more");
  git(folder, "switch", "-c", "side");
  writeFileSync(join(folder, "rope.txt"), "side");
  git(folder, "commit", "-am", "side");
  git(folder, "switch", "main");
  writeFileSync(join(folder, "rope.txt"), "main");
  git(folder, "commit", "-am", "main");
  expect(() => git(folder, "merge", "side")).toThrow();
  rmSync(join(folder, "deep"), { recursive: true });
  writeFileSync(join(folder, "deep"), "a file now");
  rmSync(join(folder, "flat"));
  mkdirSync(join(folder, "flat"));
  writeFileSync(join(folder, "flat", "inner"), "a folder now");
  const before = stateOf(folder);
  const { path } = await copied(folder);
  expect(filesOf(path)).toEqual(filesOf(folder));
  expect(readFileSync(join(path, "rope.txt"), "utf8")).toContain("<<<<<<<");
  expect(stateOf(folder)).toEqual(before);
});

test("a file that is too large or may not be read is left out and named; the same file, committed, is kept", async () => {
  const folder = repository();
  for (const name of ["committed.bin", "huge.bin"]) {
    writeFileSync(join(folder, name), "");
    truncateSync(join(folder, name), 101 * 1024 * 1024);
  }
  git(folder, "add", "committed.bin");
  git(folder, "commit", "-m", "large");
  const expected: unknown[] = [{ path: "huge.bin", reason: "too_large" }];
  if (process.getuid?.() !== 0) {
    writeFileSync(join(folder, "secret"), "s");
    chmodSync(join(folder, "secret"), 0);
    expected.push({ path: "secret", reason: "unreadable" });
  }
  const { path, leftOut } = await copied(folder);
  expect(leftOut).toEqual(expected);
  expect(Object.keys(filesOf(path))).toEqual(["committed.bin", "rope.txt"]);
});

test("a submodule is kept as its commit, an empty folder in a worktree; another repository inside is left out and named", async () => {
  const library = repository();
  const folder = repository();
  git(folder, "-c", "protocol.file.allow=always", "submodule", "add", library, "library");
  git(folder, "commit", "-m", "with a submodule");
  writeFileSync(join(folder, "library", "rope.txt"), "changed inside");
  git(join(folder, "library"), "commit", "-am", "inside");
  makeRepository(join(folder, "nested"));
  mkdirSync(join(folder, "fresh"));
  git(join(folder, "fresh"), "init");
  const before = stateOf(folder);
  const { path, commit, leftOut } = await copied(folder);
  expect(leftOut).toEqual([
    { path: "fresh/", reason: "nested_repository" },
    { path: "nested/", reason: "nested_repository" },
  ]);
  expect(Object.keys(filesOf(path))).toEqual([".gitmodules", "rope.txt"]);
  expect(git(folder, "rev-parse", `${commit}:library`)).toBe(git(join(folder, "library"), "rev-parse", "HEAD"));
  expect(stateOf(folder)).toEqual(before);
});

test("no filter runs: an untouched file behind LFS is its pointer, a changed one is its bytes, whatever the filter would do", async () => {
  const folder = repository();
  const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${"0".repeat(64)}\nsize 7\n`;
  writeFileSync(join(folder, ".gitattributes"), "*.big filter=lfs diff=lfs merge=lfs -text\n");
  writeFileSync(join(folder, "same.big"), pointer);
  writeFileSync(join(folder, "changed.big"), pointer);
  git(folder, "add", ".");
  git(folder, "commit", "-m", "pointers");
  for (const [what, program] of [
    ["clean", "touch ran; cat"],
    ["smudge", "touch ran; cat"],
    ["required", "true"],
  ])
    git(folder, "config", `filter.lfs.${what}`, program as string);
  git(folder, "config", "filter.lfs.process", "touch ran");
  writeFileSync(join(folder, "changed.big"), Buffer.from([0, 1, 2, 3]));
  writeFileSync(join(folder, "new.big"), "new bytes");
  const { path } = await copied(folder);
  expect(filesOf(path)).toEqual(filesOf(folder));
  expect(readFileSync(join(path, "same.big"), "utf8")).toBe(pointer);
  for (const at of [folder, path]) expect(Object.keys(filesOf(at))).not.toContain("ran");
});

test("no hook of the repository runs, and nothing of the caller's GIT_ variables counts", async () => {
  const folder = repository();
  for (const hook of ["post-checkout", "post-index-change", "reference-transaction", "pre-commit", "post-commit", "pre-auto-gc"]) {
    writeFileSync(join(folder, ".git", "hooks", hook), `#!/bin/sh\ntouch "${folder}/${hook}-ran"\n`);
    chmodSync(join(folder, ".git", "hooks", hook), 0o755);
  }
  const other = repository();
  for (const [name, value] of [
    ["GIT_DIR", join(other, ".git")],
    ["GIT_WORK_TREE", other],
    ["GIT_INDEX_FILE", join(other, "index")],
  ] as const) {
    process.env[name] = value;
    onTestFinished(() => void delete process.env[name]);
  }
  const before = stateOf(other);
  const { path } = await copied(folder);
  expect(Object.keys(filesOf(folder))).toEqual(["rope.txt"]);
  expect(Object.keys(filesOf(path))).toEqual(["rope.txt"]);
  expect(stateOf(other)).toEqual(before);
});

test("a detached head, and a branch without a commit, have their worktrees too", async () => {
  const detached = repository();
  git(detached, "switch", "--detach");
  expect(filesOf((await copied(detached)).path)).toEqual(filesOf(detached));

  const unborn = join(temporaryFolder(), "unborn");
  mkdirSync(unborn);
  git(unborn, "init");
  writeFileSync(join(unborn, "first.txt"), "first");
  const { path, commit } = await copied(unborn);
  expect(filesOf(path)).toEqual(filesOf(unborn));
  expect(git(path, "rev-parse", "HEAD").trim()).toBe(commit);
  expect(git(unborn, "status", "--porcelain")).toBe("?? first.txt\n");
});

test("what differs between two snapshots is told by file, renames and binary files among them", async () => {
  const folder = repository();
  const scratch = temporaryFolder();
  const state = () => readFolder(folder, scratch);
  writeFileSync(join(folder, "long.txt"), "a line\n".repeat(50));
  const first = await state();
  git(folder, "mv", "-k", "long.txt", "moved.txt");
  rmSync(join(folder, "long.txt"));
  writeFileSync(join(folder, "moved.txt"), "a line\n".repeat(50));
  writeFileSync(join(folder, "rope.txt"), "changed");
  writeFileSync(join(folder, "binary"), Buffer.from([0, 1]));
  const second = await state();
  expect(await changedFiles(folder, first.tree, second.tree)).toEqual([
    { path: "binary", change: "add" },
    { path: "moved.txt", change: "rename", from: "long.txt" },
    { path: "rope.txt", change: "update" },
  ]);
});
