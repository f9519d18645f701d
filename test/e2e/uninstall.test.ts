import { existsSync, lstatSync, mkdirSync, readdirSync, readlinkSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { config, until, type World, world } from "../services/cli/rig.ts";
import { makeDirty, stateOf, worktreesOf } from "../services/workspace/rig.ts";
import { temporaryFolder } from "../support/environments.ts";
import { git, makeRepository } from "../support/repository.ts";

const script = {
  rules: [{ match: { regex: "^write (\\S+) ([\\s\\S]*)$" }, steps: [{ fileChange: { path: "$1", content: "$2" } }, { text: "wrote $1" }] }],
};

/** A dirty repository, an environment that knows it, and a fork in a worktree that has written something. */
async function lived(box: World, { writes = true } = {}) {
  box.put("script.json", script);
  const repository = join(temporaryFolder(), "rope");
  makeRepository(repository);
  makeDirty(repository);
  const before = { state: stateOf(repository), refs: git(repository, "for-each-ref"), git: readdirSync(join(repository, ".git")).sort() };
  const { projectId } = await box.json("project", "add", repository);
  const { threadId: mine } = await box.json("new", "--project", projectId, "hello");
  const { threadId: fork } = await box.json("fork", mine);
  await box.json("send", fork, writes ? "write other.txt by the fork" : "nothing");
  const now = () => ({
    state: stateOf(repository),
    refs: git(repository, "for-each-ref"),
    git: readdirSync(join(repository, ".git")).sort(),
  });
  return { repository, before, now, fork };
}
const own = config();

test("uninstall says all that goes, refuses while work would be lost, and leaves repositories, processes and files as before", {
  timeout: 400_000,
}, async () => {
  const box = world(own);
  const home = join(box.dir, "..", "home");
  mkdirSync(home);
  const run = (...args: string[]) => box.start(args, { env: { HOME: home, XDG_RUNTIME_DIR: join(home, "nowhere") } }).ended;
  const { repository, before, now, fork } = await lived(box);
  const { pid } = (await box.client.environment()).environment;
  if (process.platform === "linux") await run("service", "install");
  expect(git(repository, "for-each-ref")).toContain("refs/ropewalk/");
  expect(worktreesOf(repository)).toHaveLength(1);

  const looked = await run("uninstall", "--dry-run");
  expect(looked).toMatchObject({ code: 0, stderr: "" });
  for (const said of [
    `the environment (pid ${pid}) is ended`,
    "with 2 threads in it",
    "1 worktree go",
    `(${fork}): 1 file, 0 commits`,
    "script.json in the folder is not ropewalk's",
  ])
    expect(looked.stdout).toContain(said);
  expect(await run("--json", "uninstall", "--yes")).toMatchObject({ code: 3, json: { refusal: { reason: "uncommitted_work" } } });
  expect(await run("--json", "uninstall", "--discard-work")).toMatchObject({ code: 2, json: { refusal: { reason: "not_confirmed" } } });
  // Nothing of all that has changed anything.
  expect((await box.client.environment()).environment.pid).toBe(pid);
  expect(worktreesOf(repository)).toHaveLength(1);

  const gone = await run("uninstall", "--yes", "--discard-work");
  expect(gone).toMatchObject({ code: 0, stdout: expect.stringContaining("uninstalled") });
  // Before anything else of ropewalk is run here, which keeps its compiled code anew.
  expect(readdirSync(home, { recursive: true }).filter((name) => String(name).includes("ropewalk"))).toEqual([]);
  expect(now()).toEqual(before);
  expect(worktreesOf(repository)).toEqual([]);
  expect(await run("--no-start", "status")).toMatchObject({ code: 4 });
  expect(readdirSync(box.dir)).toEqual(["script.json"]);
  expect(await run("uninstall", "--yes")).toMatchObject({ code: 0, stdout: expect.stringContaining("there is no environment") });
});

test("an uninstall that is killed at any moment is ended by another one", { timeout: 400_000 }, async () => {
  // From when it has begun to remove; it may also have ended by then.
  for (const afterMs of [0, 60, 200]) {
    const box = world(own);
    const { before, now, repository } = await lived(box);
    await box.run("down");
    const begun = box.start(["uninstall", "--yes", "--discard-work"]);
    let hasEnded = false;
    const ended = begun.ended.then(() => {
      hasEnded = true;
    });
    await until(() => hasEnded || existsSync(join(box.dir, "uninstalling.json")));
    await new Promise((resolve) => setTimeout(resolve, afterMs));
    begun.child.kill("SIGKILL");
    await ended;
    expect(await box.run("uninstall", "--yes", "--discard-work")).toMatchObject({ code: 0 });
    expect(now()).toEqual(before);
    expect(worktreesOf(repository)).toEqual([]);
    expect(readdirSync(box.dir)).toEqual(["script.json"]);
  }
});

test("with a plan of an uninstall that had removed the store already, another one ends it; without work nothing has to be discarded", {
  timeout: 400_000,
}, async () => {
  const box = world(own);
  const { before, now, repository } = await lived(box, { writes: false });
  await box.run("down");
  const { environmentId } = (await box.json("--no-start", "uninstall", "--dry-run")).belongings;
  box.put("uninstalling.json", { environmentId, name: "box", projects: [repository] });
  for (const name of readdirSync(box.dir).filter((n) => /^(ropewalk\.db|openings|config)/.test(n))) box.remove(name);
  expect(await box.run("uninstall", "--yes")).toMatchObject({ code: 0 });
  expect(now()).toEqual(before);
  expect(readdirSync(box.dir)).toEqual(["script.json"]);
});

test("files that agents without a project wrote are work too, a person's files stay, and a socket elsewhere goes with a link to it", {
  timeout: 400_000,
}, async () => {
  const box = world(own, "long".repeat(30));
  const runtime = join(box.dir, "..", "run");
  mkdirSync(runtime, { mode: 0o700 });
  box.put("script.json", script);
  const up = await box.up({ env: { XDG_RUNTIME_DIR: runtime } });
  await box.json("new", "write letter.txt dear");
  const socket = readlinkSync(join(box.dir, "ropewalk.sock"));
  mkdirSync(join(box.dir, "my notes"));
  writeFileSync(join(box.dir, "my notes", "a.txt"), "mine");
  up.child.kill("SIGKILL");
  await up.ended;
  expect(lstatSync(socket).isSocket()).toBe(true);
  symlinkSync(box.dir, join(box.dir, "..", "alias"));

  const refused = await box.run("--json", "uninstall", "--yes");
  expect(refused).toMatchObject({
    code: 3,
    json: { refusal: { reason: "uncommitted_work", details: { scratch: [expect.stringContaining("letter.txt")] } } },
  });
  const gone = await box.start(["--dir", join(box.dir, "..", "alias"), "--json", "uninstall", "--yes", "--discard-work"], { dir: false })
    .ended;
  expect(gone).toMatchObject({ code: 0, json: { left: [join(box.dir, "my notes"), join(box.dir, "script.json")] } });
  expect(existsSync(socket)).toBe(false);
  expect(readdirSync(join(box.dir, "my notes"))).toEqual(["a.txt"]);
});

test("with --keep-data only the process goes; the folder and what it has in repositories stay, and it starts again", {
  timeout: 400_000,
}, async () => {
  const box = world(own);
  const { repository } = await lived(box);
  expect(await box.run("uninstall", "--keep-data", "--yes")).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(`left: ${box.dir}`),
  });
  expect(await box.run("--no-start", "status")).toMatchObject({ code: 4 });
  expect(worktreesOf(repository)).toHaveLength(1);
  expect((await box.json("ls")).threads).toHaveLength(2);
});
