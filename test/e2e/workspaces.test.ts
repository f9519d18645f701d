import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { until, world } from "../services/cli/rig.ts";
import { makeDirty, privateRefs, stateOf, worktreesOf } from "../services/workspace/rig.ts";
import { temporaryFolder } from "../support/environments.ts";
import { git, makeRepository } from "../support/repository.ts";

const script = {
  rules: [{ match: { regex: "^write (\\S+) ([\\s\\S]*)$" }, steps: [{ fileChange: { path: "$1", content: "$2" } }, { text: "wrote $1" }] }],
};

test("a dirty repository is the same, byte for byte, after two forks, a child and an undo that edit the same line", {
  timeout: 300_000,
}, async () => {
  const box = world();
  box.put("script.json", script);
  const repository = join(temporaryFolder(), "rope");
  makeRepository(repository);
  makeDirty(repository);
  const before = stateOf(repository);
  await box.up();

  const { projectId } = await box.json("project", "add", repository);
  const { threadId: mine } = await box.json("new", "--project", projectId, "hello");
  const line = (who: string) => `write rope.txt one\ntwo by ${who}\nthree\n`;
  const forks = [];
  for (const who of ["first", "second"]) {
    const { threadId } = await box.json("fork", mine);
    await box.json("send", threadId, line(who));
    forks.push(threadId);
  }
  const child = (await box.json("spawn", mine, line("child"), "--wait")).childThreadId;
  const [first, second] = forks as [string, string];
  await box.json("send", first, line("first again"));

  // Each has its own folder, and its own words in that line.
  const folderOf = async (threadId: string) => (await box.run("open", threadId)).stdout.trim();
  const words = async (threadId: string) => readFileSync(join(await folderOf(threadId), "rope.txt"), "utf8").split("\n")[1];
  expect(await Promise.all([first, second, child].map(words))).toEqual(["two by first again", "two by second", "two by child"]);
  expect(await folderOf(mine)).toBe(repository);
  expect(worktreesOf(repository).sort()).toEqual((await Promise.all([first, second, child].map(folderOf))).sort());
  expect(worktreesOf(repository)).toHaveLength(3);
  expect((await box.run("diff", first, "2")).stdout).toContain("-two by first\n+two by first again\n");
  expect((await box.run("diff", second, "--files")).stdout).toBe("M rope.txt\n");

  // An undo says what goes, and does nothing unasked.
  const looked = await box.run("undo", first, "--dry-run");
  expect(looked.stdout).toBe("run 2 goes (done)\nin its worktree 1 file changes:\n    M rope.txt\n");
  expect((await box.run("undo", first)).code).toBe(2);
  expect(await words(first)).toBe("two by first again");
  expect((await box.run("undo", first, "--yes")).code).toBe(0);
  expect(await words(first)).toBe("two by first");
  expect((await box.run("undo", first, "--back")).code).toBe(0);
  expect(await words(first)).toBe("two by first again");
  expect((await box.run("undo", first, "--to", "1", "--yes")).code).toBe(0);
  expect(await words(first)).toBe("two by first");
  // In the user's folder, only the conversation goes back.
  expect((await box.run("undo", mine, "--yes")).stderr).toContain("files stay as they are");
  expect(stateOf(repository)).toEqual(before);

  const doctor = await box.json("doctor");
  expect(doctor.findings.find((f: { about: string }) => f.about === "worktrees")).toMatchObject({
    state: "fine",
    text: expect.stringMatching(/^3 worktrees, .*; all as they should be$/),
  });
  expect((await box.run("project", "worktrees")).stdout.trim().split("\n")).toHaveLength(3);

  // What is uncommitted holds its thread; what is on a branch does not.
  for (const threadId of [first, second, child]) {
    const refused = await box.run("delete", threadId);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toMatch(/1 changed files?.*\n.*--discard-work/);
  }
  expect(worktreesOf(repository)).toHaveLength(3);
  const folder = await folderOf(second);
  git(folder, "switch", "-q", "-c", "kept");
  git(folder, "add", ".");
  git(folder, "commit", "-q", "-m", "by the second fork");
  expect((await box.run("delete", second)).code).toBe(0);
  for (const threadId of [first, child]) expect((await box.run("delete", threadId, "--discard-work")).code).toBe(0);
  await until(() => worktreesOf(repository).length === 0);
  expect(git(repository, "show", "kept:rope.txt")).toContain("two by second");
  git(repository, "branch", "-q", "-D", "kept");
  expect((await box.run("delete", mine)).code).toBe(0);
  await until(() => privateRefs(repository).length === 0);
  expect(stateOf(repository)).toEqual(before);
});
