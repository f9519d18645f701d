import { appendFileSync, mkdirSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { expect, test } from "vitest";
import { differenceBetween } from "../../../services/workspace/diff.ts";
import { lookAtFolder } from "../../../services/workspace/snapshot.ts";
import { temporaryFolder } from "../../support/environments.ts";
import { git, makeRepository } from "../../support/repository.ts";
import { fork, makeDirty, startInRepository, stateOf, worktreeOf } from "./rig.ts";

/** Every object that is a repository's own, whether anything leads to it or not. */
const objectsOf = (folder: string): string[] => readdirSync(join(folder, ".git", "objects"), { recursive: true, encoding: "utf8" }).sort();

test("diff, the preview of an undo and a delete that is refused for uncommitted work leave no object in the repository", async () => {
  const { env, repository, projectId } = await startInRepository({ prepare: makeDirty });
  const source = await env.newThread({ projectId });
  await env.say(source, "hello");
  const target = await fork(env, source);
  await env.say(target, "write rope.txt by the agent");
  writeFileSync(join(repository, "mine.txt"), "of mine, after the checkpoint");
  const path = worktreeOf(env, target);
  mkdirSync(join(path, "deep"));
  writeFileSync(join(path, "deep", "new.txt"), "in a worktree, after the checkpoint");
  const before = { objects: objectsOf(repository), state: stateOf(repository) };

  const inRoot = await env.workspaces.difference(source, null, 10_000);
  expect(inRoot.files.map((file) => file.path)).toContain("mine.txt");
  const inWorktree = await env.workspaces.difference(target, null, 10_000);
  expect(inWorktree.patch).toContain("+in a worktree, after the checkpoint");
  const preview = await env.workspaces.undoPreview(target, undefined);
  expect(preview.files).toContainEqual({ path: "deep/new.txt", change: "delete" });
  expect(await env.dispatch({ type: "thread.delete", threadId: target })).toMatchObject({
    ok: false,
    refusal: { reason: "uncommitted_work", details: { files: ["deep/new.txt", "rope.txt"] } },
  });

  expect(objectsOf(repository)).toEqual(before.objects);
  expect(stateOf(repository)).toEqual(before.state);
  expect(readdirSync(join(env.dir, "worktrees", ".tmp"))).toEqual([]);
  // A checkpoint is no mere look.
  await env.say(target, "hello");
  expect(objectsOf(repository).length).toBeGreaterThan(before.objects.length);
});

/** Repositories whose objects are not simply where they are expected, by what is unusual. */
const unusual: Record<string, (folder: string) => string> = {
  "borrows from one that borrows, by relative paths": (folder) => {
    const [first, second, third] = ["first", "second", "third"].map((name) => join(folder, name)) as [string, string, string];
    makeRepository(first);
    for (const [from, to] of [
      [first, second],
      [second, third],
    ] as const) {
      git(folder, "clone", "-q", "--shared", from, to);
      const objects = join(to, ".git", "objects");
      writeFileSync(join(objects, "info", "alternates"), `${relative(objects, join(from, ".git", "objects"))}\n`);
      writeFileSync(join(to, `${to.slice(folder.length + 1)}.txt`), "more");
      git(to, "add", ".");
      git(to, "commit", "-m", "more");
    }
    return third;
  },
  "has signs in its path that end or quote a list's entry": (folder) => {
    const path = join(folder, 'a:b "c" \\n;d');
    makeRepository(path);
    return path;
  },
  "has its git folder elsewhere": (folder) => {
    const path = join(folder, "rope");
    makeRepository(path);
    renameSync(join(path, ".git"), join(folder, "elsewhere"));
    writeFileSync(join(path, ".git"), "gitdir: ../elsewhere\n");
    return path;
  },
  "has everything in one pack": (folder) => {
    const path = join(folder, "rope");
    makeRepository(path);
    git(path, "gc", "-q");
    return path;
  },
};

test.each(Object.keys(unusual))("a look finds what is different in a repository that %s, and leaves no object in it", async (name) => {
  const folder = temporaryFolder();
  const path = (unusual[name] as (folder: string) => string)(folder);
  const scratch = join(folder, "scratch");
  appendFileSync(join(path, "rope.txt"), "\nchanged\n");
  writeFileSync(join(path, "new.txt"), "new\n");
  const all = () => git(path, "cat-file", "--batch-all-objects", "--batch-check");
  const before = all();
  const seen = await lookAtFolder(path, scratch, async ({ tree, head }, call) => {
    expect(git(path, "rev-parse", "HEAD").trim()).toBe(head);
    return differenceBetween(path, "HEAD", tree, 10_000, call);
  });
  expect(seen.files).toEqual([
    { path: "new.txt", change: "add" },
    { path: "rope.txt", change: "update" },
  ]);
  expect(seen.patch).toContain("+changed");
  expect(all()).toBe(before);
  expect(readdirSync(scratch)).toEqual([]);
});
