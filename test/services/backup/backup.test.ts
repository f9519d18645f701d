import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { backUpStopped, restoreFrom } from "../../../services/backing-up.ts";
import { backupPlaces } from "../../../services/backup/places.ts";
import { createEnvironment } from "../../../services/environment.ts";
import { systemClock } from "../../../services/runtime/system-clock.ts";
import { startEnvironment, temporaryFolder, until } from "../../support/environments.ts";
import { git } from "../../support/repository.ts";
import { fork, makeDirty, privateRefs, startInRepository, stateOf, worktreeOf } from "../workspace/rig.ts";
import { refusedWith, reopened } from "./rig.ts";

test("a restored environment goes on: threads, their worktrees with uncommitted work, checkpoints, its identity, and a new incarnation", async () => {
  const { env, repository, projectId } = await startInRepository();
  const thread = await env.newThread({ title: "without a project" });
  await env.say(thread, "write a.txt one");
  const own = await env.newThread({ projectId, title: "in the repository" });
  await env.say(own, "write a.txt one");
  const forked = await fork(env, own);
  await env.say(forked, "write b.txt committed to nothing");
  writeFileSync(join(worktreeOf(env, forked), "c.txt"), "not even in a checkpoint");
  writeFileSync(join(env.dir, "scratch", "note.txt"), "of an agent without a project");
  const files = readdirSync(worktreeOf(env, forked)).sort();
  const before = stateOf(repository);
  const [runs, items] = [env.threads.runs(forked), env.threads.items(forked)];
  const { incarnation } = env.health();

  const made = await env.backups.make();
  expect(stateOf(repository)).toEqual(before);
  expect(made).toMatchObject({ environmentId: env.id, commit: env.lastCommit, leftOut: [], removed: [] });
  expect(made.repositories).toMatchObject([{ path: repository, worktrees: [forked], trouble: null }]);
  expect(env.backups.list()).toEqual([expect.objectContaining({ path: made.path, commit: made.commit })]);
  // What came after it is not in it.
  await env.say(forked, "write later.txt late");

  await env.close();
  const lost = join(temporaryFolder(), "lost");
  renameSync(env.dir, lost);
  for (const ref of privateRefs(repository)) git(repository, "update-ref", "-d", ref);
  const from = join(lost, "backups", made.path.slice(made.path.lastIndexOf("/") + 1));
  const into = join(temporaryFolder(), "again");
  const restored = await restoreFrom(from, { into });
  expect(restored).toMatchObject({
    environmentId: env.id,
    worktrees: 1,
    original: null,
    repositories: [{ path: repository, state: "restored" }],
  });

  const again = await reopened(into);
  expect(again.health()).toMatchObject({ environmentId: env.id, isNewIncarnation: true });
  expect(again.health().incarnation).not.toBe(incarnation);
  expect([again.threads.runs(forked), again.threads.items(forked)]).toEqual([runs, items]);
  expect(worktreeOf(again, forked)).toBe(join(again.dir, "worktrees", forked.slice("thread:".length)));
  await until(() => again.threads.get(forked)?.restoring == null, "its worktree");
  expect(readdirSync(worktreeOf(again, forked)).sort()).toEqual(files);
  expect(readFileSync(join(worktreeOf(again, forked), "c.txt"), "utf8")).toBe("not even in a checkpoint");
  expect(readFileSync(join(again.dir, "scratch", "note.txt"), "utf8")).toBe("of an agent without a project");
  expect((await again.say(forked, "write d.txt on")).status).toBe("completed");
  expect(existsSync(join(worktreeOf(again, forked), "d.txt"))).toBe(true);
  expect((await again.say(thread, "go on")).status).toBe("completed");
  const next = await fork(again, own);
  expect((await again.say(next, "write e.txt x")).status).toBe("completed");
  expect((await again.workspaces.inspect()).findings).toEqual([]);
  // The same again, started anew, changes nothing more.
  const place = worktreeOf(again, forked);
  const third = await again.restart();
  expect(third.health().isNewIncarnation).toBe(false);
  expect(worktreeOf(third, forked)).toBe(place);
});

test("a backup leaves a repository with everything under way as it was, and only the refs that were there", async () => {
  const { env, repository, projectId } = await startInRepository({ prepare: makeDirty });
  const thread = await env.newThread({ projectId });
  await env.say(thread, "write x.txt 1");
  const forked = await fork(env, thread);
  await env.say(forked, "write y.txt 1");
  const [before, refs] = [stateOf(repository), privateRefs(repository)];
  const { path } = await env.backups.make();
  expect(stateOf(repository)).toEqual(before);
  expect(privateRefs(repository)).toEqual(refs);
  const heads = git(repository, "bundle", "list-heads", join(path, "refs", "1.bundle"))
    .trim()
    .split("\n");
  expect(heads.map((line) => line.split(" ")[1]?.split("/").at(-1))).toContain("backup");
  // What the user's branches have is needed, not copied.
  expect(statSync(join(path, "refs", "1.bundle")).size).toBeLessThan(10_000);
});

test("what is restored is readable by its owner alone, keys included, and so is the backup", async () => {
  const env = await startEnvironment();
  const { path } = await env.backups.make();
  const into = join(temporaryFolder(), "again");
  await env.close();
  renameSync(env.dir, `${env.dir}-away`);
  await restoreFrom(path.replace(env.dir, `${env.dir}-away`), { into });
  for (const file of [`${env.dir}-away/backups/${path.split("/").at(-1)}/files/keys/link.json`, join(into, "keys", "link.json")])
    expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(statSync(into).mode & 0o777).toBe(0o700);
  rmSync(`${env.dir}-away`, { recursive: true });
});

test("commands go on while a backup is made, and it has all of one commit", async () => {
  const env = await startEnvironment();
  const thread = await env.newThread();
  let isDone = false;
  const making = env.backups.make().finally(() => {
    isDone = true;
  });
  let sent = 0;
  while (!isDone) {
    await env.send({ type: "thread.rename", threadId: thread, title: `title ${sent}` });
    sent += 1;
  }
  const made = await making;
  expect(sent).toBeGreaterThan(0);
  await env.close();
  renameSync(env.dir, `${env.dir}-away`);
  const into = join(temporaryFolder(), "again");
  await restoreFrom(made.path.replace(env.dir, `${env.dir}-away`), { into });
  const again = await reopened(into);
  expect(again.lastCommit).toBeGreaterThanOrEqual(made.commit);
  expect(again.threads.get(thread)?.title).toMatch(/^title \d+$|^$/);
  rmSync(`${env.dir}-away`, { recursive: true });
});

test("a restore that was broken off is done anew; what is no leaving of one stays and is told", async () => {
  const env = await startEnvironment();
  const { path } = await env.backups.make({ to: join(temporaryFolder(), "backups") });
  await env.close();
  rmSync(env.dir, { recursive: true });
  const parent = temporaryFolder();
  const left = join(parent, ".again.restoring");
  mkdirSync(left);
  writeFileSync(join(left, "ropewalk.db"), "half");
  await expect(restoreFrom(path, { into: join(parent, "again") })).rejects.toEqual(refusedWith("folder_in_the_way"));
  writeFileSync(join(left, ".unfinished-restore"), "");
  await restoreFrom(path, { into: join(parent, "again") });
  expect(readdirSync(parent)).toEqual(["again"]);
});

test("a backup that was broken off is removed by the next one; another environment's, and what is no backup, stay", async () => {
  const env = await startEnvironment();
  const to = join(temporaryFolder(), "backups");
  for (const [name, mark] of [
    [".box-1.part", env.id],
    [".box-2.part", "env:other"],
    [".mine.part", null],
  ] as const) {
    mkdirSync(join(to, name), { recursive: true });
    if (mark !== null) writeFileSync(join(to, name, ".unfinished"), mark);
  }
  const { path } = await env.backups.make({ to });
  expect(readdirSync(to).sort()).toEqual([".box-2.part", ".mine.part", path.slice(to.length + 1)].sort());
  expect(existsSync(join(path, ".unfinished"))).toBe(false);
});

test("keep removes the oldest of the environment's own beyond so many, and nothing else; places are remembered for a purge", async () => {
  const [env, other] = [await startEnvironment(), await startEnvironment({ name: "other" })];
  const to = join(temporaryFolder(), "backups");
  const foreign = await other.backups.make({ to });
  const first = await env.backups.make({ to });
  const second = await env.backups.make({ to });
  mkdirSync(join(to, "holiday-pictures"));
  expect(backupPlaces(env.dir)).toEqual([first.path, second.path]);
  const third = await env.backups.make({ to, keep: 2 });
  expect(third.removed).toEqual([first.path]);
  expect(readdirSync(to).sort()).toEqual(["holiday-pictures", ...[foreign, second, third].map((b) => b.path.slice(to.length + 1))].sort());
  expect(backupPlaces(env.dir)).toEqual([second.path, third.path]);
  expect(backupPlaces(other.dir)).toEqual([foreign.path]);
});

test("two at once are not made: the second is refused, and the first is whole", async () => {
  const env = await startEnvironment();
  const first = env.backups.make();
  await expect(env.backups.make()).rejects.toEqual(refusedWith("backup_running"));
  expect((await first).commit).toBe(env.lastCommit);
});

test("beside its original it is restored only when that is said, and only one of the two can run", async () => {
  const env = await startEnvironment();
  const { path } = await env.backups.make({ to: join(temporaryFolder(), "backups") });
  const into = join(temporaryFolder(), "again");
  await expect(restoreFrom(path, { into })).rejects.toEqual(refusedWith("original_is_running"));
  await expect(restoreFrom(path, { into, beside: true })).rejects.toEqual(refusedWith("original_is_running"));
  await env.close();
  await expect(restoreFrom(path, { into })).rejects.toEqual(refusedWith("original_is_there"));
  expect(existsSync(into)).toBe(false);
  expect(await restoreFrom(path, { into, beside: true })).toMatchObject({ original: env.dir });

  const original = await env.restart();
  await expect(createEnvironment({ dir: into })).rejects.toEqual(refusedWith("identity_in_use"));
  await original.close();
  const again = await reopened(into);
  await expect(createEnvironment({ dir: env.dir })).rejects.toEqual(refusedWith("identity_in_use"));
  await again.close();
  rmSync(into, { recursive: true });
  await (await createEnvironment({ dir: env.dir })).close();
});

test("an environment that does not run is backed up without being changed, and cannot start meanwhile", async () => {
  const env = await startEnvironment();
  const thread = await env.newThread({ title: "kept" });
  await env.close();
  const bytes = readFileSync(join(env.dir, "ropewalk.db"));
  const making = backUpStopped(env.dir, { to: join(temporaryFolder(), "backups") });
  await expect(createEnvironment({ dir: env.dir })).rejects.toEqual(refusedWith("store_locked"));
  const made = await making;
  expect(readFileSync(join(env.dir, "ropewalk.db"))).toEqual(bytes);
  expect(readdirSync(env.dir).filter((name) => name.startsWith("ropewalk.db"))).toEqual(["ropewalk.db"]);
  rmSync(env.dir, { recursive: true });
  await restoreFrom(made.path, { into: env.dir, clock: systemClock });
  expect((await reopened(env.dir)).threads.get(thread)?.title).toBe("kept");
  await expect(backUpStopped(temporaryFolder())).rejects.toEqual(refusedWith("no_environment"));
});

test("a repository that is gone, or lacks what the bundle builds on, is named, and the rest is restored", async () => {
  const { env, repository, projectId } = await startInRepository();
  const thread = await env.newThread({ projectId });
  await env.say(thread, "write x.txt 1");
  const { path } = await env.backups.make({ to: join(temporaryFolder(), "backups") });
  await env.close();
  rmSync(env.dir, { recursive: true });
  renameSync(repository, `${repository}-moved`);
  const gone = join(temporaryFolder(), "gone");
  expect((await restoreFrom(path, { into: gone })).repositories).toMatchObject([{ path: repository, state: "gone", refs: 0 }]);
  rmSync(gone, { recursive: true });
  mkdirSync(repository);
  git(repository, "init");
  const other = join(temporaryFolder(), "other");
  expect((await restoreFrom(path, { into: other })).repositories).toMatchObject([{ path: repository, state: "failed", refs: 0 }]);
  const again = await reopened(other);
  expect((await again.say(thread, "write z.txt 1")).status).toBe("completed");
});
