import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { until, world } from "../services/cli/rig.ts";
import { stateOf } from "../services/workspace/rig.ts";
import { filesWith, objectsWith } from "../support/byte-search.ts";
import { temporaryFolder } from "../support/environments.ts";
import { git, makeRepository } from "../support/repository.ts";

const key = 'sk-live-"77"\\näö-KINGFISHER';
const script = {
  rules: [
    { match: { regex: "^write (\\S+) ([\\s\\S]*)$" }, steps: [{ fileChange: { path: "$1", content: "$2" } }, { text: "wrote $1" }] },
    { match: { contains: "hang" }, steps: [{ hang: true }] },
  ],
};

test("a planted key is in no byte of the folder, the git objects and the backups after fork, switch, checkpoint, backup and purge --match", {
  timeout: 600_000,
}, async () => {
  const box = world();
  box.put("script.json", script);
  const repository = join(temporaryFolder(), "rope");
  const backups = temporaryFolder();
  makeRepository(repository);
  await box.up();
  const { projectId } = await box.json("project", "add", repository);
  const { threadId: source } = await box.json("new", "--project", projectId, `the key is ${key}`);
  const { threadId: fork } = await box.json("fork", source);
  await box.json("send", fork, `write key.txt ${key}\n`);
  await box.json("send", fork, "and now you", "--with", "other");
  await box.json("backup", backups);
  await box.json("backup");
  // Mere looks at what nobody has kept yet leave nothing that a purge could not tell whose it is.
  writeFileSync(join((await box.run("open", fork)).stdout.trim(), "later.txt"), `${key} once more\n`);
  expect((await box.run("diff", fork)).stdout).toContain("+sk-live-");
  expect((await box.run("undo", fork, "--dry-run")).stdout).toContain("later.txt");
  expect((await box.run("delete", fork)).stderr).toContain("holds 2 changed files");
  // The checkpoints in a pack beside the user's own commits, and something of the user's that nothing leads to.
  writeFileSync(join(repository, "mine.txt"), "a stash of mine");
  git(repository, "add", "mine.txt");
  git(repository, "stash");
  const mine = git(repository, "rev-parse", "stash@{0}").trim();
  git(repository, "stash", "drop");
  git(repository, "repack", "-a", "-d", "-k", "-q");
  const before = stateOf(repository);
  expect(objectsWith(repository, key)).not.toEqual([]);
  expect(filesWith(backups, key)).not.toEqual([]);

  const looked = await box.start(["purge", "--match", "-", "--dry-run"], { input: `${key}\n` }).ended;
  expect(looked.code).toBe(0);
  expect(looked.stdout).toMatch(/checkpoint refs\/ropewalk/);
  expect(looked.stdout).toMatch(/backup /);
  expect(looked.stdout + looked.stderr).not.toContain("KINGFISHER");
  expect((await box.start(["purge", "--match", "-"], { input: key }).ended).code).toBe(2);
  const purged = await box.start(["purge", "--match", "-", "--yes"], { input: key }).ended;
  expect(purged).toMatchObject({ code: 0, stdout: expect.stringContaining("finds it no more") });

  expect(filesWith(box.dir, key)).toEqual([]);
  expect(filesWith(backups, key)).toEqual([]);
  expect(objectsWith(repository, key)).toEqual([]);
  expect(filesWith(repository, key)).toEqual([]);
  expect(stateOf(repository)).toEqual(before);
  git(repository, "fsck", "--full");
  expect(git(repository, "show", `${mine}:mine.txt`)).toBe("a stash of mine");

  // Everything goes on: it can be shown, forked, switched, undone, and restored.
  expect((await box.run("show", source)).stdout).toContain("the key is [purged]");
  const { threadId: again } = await box.json("fork", fork);
  await box.json("send", again, "hello", "--with", "other");
  expect(readFileSync(join((await box.run("open", again)).stdout.trim(), "key.txt"), "utf8")).toContain("[purged]");
  expect((await box.run("undo", fork, "--yes")).code).toBe(0);
  const [backup] = (await box.json("backup", "--list")).backups;
  const into = join(temporaryFolder(), "restored");
  await box.run("down");
  expect((await box.run("restore", backup.path, "--into", into, "--beside")).code).toBe(0);
  expect(filesWith(into, key)).toEqual([]);
});

test("a purge that was killed in the middle of it finishes when it is run again", { timeout: 600_000 }, async () => {
  const box = world();
  box.put("script.json", script);
  const repository = join(temporaryFolder(), "rope");
  makeRepository(repository);
  const first = await box.up();
  const { projectId } = await box.json("project", "add", repository);
  const { threadId: source } = await box.json("new", "--project", projectId, `the key is ${key}`);
  const { threadId: fork } = await box.json("fork", source);
  await box.json("send", fork, `write key.txt ${key}\n`);
  const cut = box.start(["--no-start", "purge", "--match", "-", "--yes"], { input: key });
  // Its snapshots are made anew first.
  const ref = () => git(repository, "for-each-ref", "--format=%(objectname)", "refs/ropewalk");
  const before = ref();
  await until(() => ref() !== before, cut.ended);
  first.child.kill("SIGKILL");
  expect((await cut.ended).code).not.toBe(0);
  await box.up();
  expect((await box.start(["purge", "--match", "-", "--yes"], { input: key }).ended).code).toBe(0);
  expect(filesWith(box.dir, key)).toEqual([]);
  expect(objectsWith(repository, key)).toEqual([]);
  git(repository, "fsck", "--full");
  expect((await box.run("diff", fork, "1")).stdout).toContain("+[purged]");
});
