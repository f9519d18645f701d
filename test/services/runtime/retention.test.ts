import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import type { EnvironmentConfig } from "../../../schemas/config.ts";
import type { ThreadId } from "../../../schemas/ids.ts";
import { backUpStopped } from "../../../services/backing-up.ts";
import { writeConfig } from "../../../services/runtime/config-file.ts";
import { MemoryClock } from "../../../services/runtime/memory-clock.ts";
import { filesWith } from "../../support/byte-search.ts";
import { startEnvironment, type TestEnvironment, type TestOptions, temporaryFolder, until } from "../../support/environments.ts";
import { killedEnvironment } from "../../support/killed-environment.ts";
import { git } from "../../support/repository.ts";
import { fork, startInRepository, worktreeOf } from "../workspace/rig.ts";

const day = 86_400_000;

type Kept = EnvironmentConfig["retention"];
const keeping = (retention: Kept): TestOptions => ({ config: { retention } as TestOptions["config"] & object });
const configOf = (dir: string) => JSON.parse(readFileSync(join(dir, "config.json"), "utf8")) as EnvironmentConfig;
const change = (dir: string, retention: Kept) => writeConfig(dir, { ...configOf(dir), retention });
const seen = (env: TestEnvironment) => env.health().retention;
const isGone = (env: TestEnvironment, threadId: ThreadId) => env.threads.get(threadId)?.purge?.doneAt != null;
/** Without what the scripted provider keeps of its own accord. */
const inFolder = (env: TestEnvironment, text: string) => filesWith(env.dir, text).filter((path) => !path.includes("/providers/"));

const looked = (env: TestEnvironment, at: number) => until(() => (seen(env).lastLookAt ?? -1) >= at, "a look", 60_000);

/** Moves on to the next look, and waits for its end. */
async function nextLook(env: TestEnvironment, clock: MemoryClock): Promise<void> {
  const at = await until(() => seen(env).nextLookAt, "a look to be set");
  await clock.advance(at - clock.now());
  await looked(env, at);
}

async function days(env: TestEnvironment, clock: MemoryClock, count: number): Promise<void> {
  for (let i = 0; i < count; i += 1) await nextLook(env, clock);
}

async function deletedThread(env: TestEnvironment, text: string): Promise<ThreadId> {
  const threadId = await env.newThread();
  await env.say(threadId, text);
  await env.send({ type: "thread.delete", threadId });
  return threadId;
}

/** As if everything in this folder had happened so many days earlier. Of one that does not run. */
function earlier(dir: string, count: number): void {
  const store = new DatabaseSync(join(dir, "ropewalk.db"));
  store.prepare("update commits set at = at - ?").run(count * day);
  store.close();
}

test("deleted threads are purged so many days after, not before; the others stay; no setting brings them back", {
  timeout: 120_000,
}, async () => {
  const clock = new MemoryClock();
  const env = await startEnvironment({ clock, ...keeping({ deletedThreadsDays: 3 }) });
  const kept = await env.newThread();
  await env.say(kept, "KEPTWORD");
  const first = await deletedThread(env, "FIRSTWORD");
  await days(env, clock, 2);
  const second = await deletedThread(env, "SECONDWORD");
  expect(seen(env)).toMatchObject({ deletedThreadsDays: 3, waiting: 1, held: 0, next: { threadId: first } });
  expect(env.threads.get(first)?.purge).toBeUndefined();
  await days(env, clock, 1);
  await until(() => isGone(env, first), "the first to go", 60_000);
  expect(inFolder(env, "FIRSTWORD")).toEqual([]);
  expect(inFolder(env, "SECONDWORD")).not.toEqual([]);
  expect(seen(env)).toMatchObject({ waiting: 1, next: { threadId: second, dueAt: clock.now() + 2 * day } });

  // Another setting, and none: what is gone stays gone, and what is not due any more stays.
  for (const retention of [{ deletedThreadsDays: 30 }, undefined]) {
    change(env.dir, retention);
    const again = await env.restart();
    if (retention !== undefined) {
      await looked(again, clock.now());
      await days(again, clock, 5);
    }
    expect(isGone(again, first)).toBe(true);
    expect(JSON.stringify(again.threads.items(first))).not.toContain("FIRSTWORD");
    expect(JSON.stringify(again.threads.items(second))).toContain("SECONDWORD");
    expect(JSON.stringify(again.threads.items(kept))).toContain("KEPTWORD");
    await again.close();
  }
});

test("by default nothing is removed, however long it was deleted, and nothing waits to look", { timeout: 60_000 }, async () => {
  const clock = new MemoryClock();
  const env = await startEnvironment({ clock });
  const threadId = await deletedThread(env, "OLDWORD");
  await env.backups.make();
  await env.backups.make();
  await clock.advance(3_650 * day);
  const again = await env.restart();
  expect(again.threads.get(threadId)?.purge).toBeUndefined();
  expect(JSON.stringify(again.threads.items(threadId))).toContain("OLDWORD");
  expect(again.backups.list()).toHaveLength(2);
  expect(seen(again)).toEqual({
    deletedThreadsDays: null,
    backupsKept: null,
    lastLookAt: null,
    nextLookAt: null,
    waiting: 0,
    next: null,
    held: 0,
    heldThreads: [],
  });
});

test("what a fork shows stays while the fork is there, is named, costs no commit a day, and goes with the look after the fork", {
  timeout: 120_000,
}, async () => {
  const clock = new MemoryClock();
  const { env, projectId } = await startInRepository({ clock, ...keeping({ deletedThreadsDays: 1 }) });
  const source = await env.newThread({ projectId });
  await env.say(source, "SHOWNWORD");
  const target = await fork(env, source);
  await env.send({ type: "thread.delete", threadId: source, keepForks: true });
  await days(env, clock, 2);
  const { lastCommit } = env;
  await days(env, clock, 3);
  expect(env.lastCommit).toBe(lastCommit);
  expect(seen(env)).toMatchObject({ held: 1, heldThreads: [{ threadId: source, reason: "has_forks" }] });
  expect(JSON.stringify(env.threads.items(target))).toContain("SHOWNWORD");
  await env.send({ type: "thread.delete", threadId: target });
  await days(env, clock, 1);
  await until(() => isGone(env, source), "the source to go", 60_000);
  await days(env, clock, 1);
  await until(() => isGone(env, target), "the fork to go", 60_000);
  expect(inFolder(env, "SHOWNWORD")).toEqual([]);
});

test("a deleted thread whose worktree somebody works in stays until that is gone", { timeout: 120_000 }, async () => {
  const clock = new MemoryClock();
  const { env, repository, projectId } = await startInRepository({ clock, ...keeping({ deletedThreadsDays: 1 }) });
  const source = await env.newThread({ projectId });
  await env.say(source, "hello");
  const target = await fork(env, source);
  await env.say(target, "hello");
  const path = worktreeOf(env, target);
  await env.send({ type: "thread.delete", threadId: target });
  await until(() => !git(repository, "worktree", "list").includes(path), "its worktree to go");
  git(repository, "worktree", "add", "--detach", path);
  writeFileSync(join(path, "mine.txt"), "of somebody");
  await days(env, clock, 2);
  expect(seen(env)).toMatchObject({ held: 1, heldThreads: [{ threadId: target, reason: "uncommitted_work" }] });
  expect(readFileSync(join(path, "mine.txt"), "utf8")).toBe("of somebody");
  git(repository, "worktree", "remove", "--force", path);
  await days(env, clock, 1);
  await until(() => isGone(env, target), "it to go", 60_000);
});

test("many that are due go a few at a time, and what is said meanwhile is answered", { timeout: 120_000 }, async () => {
  const clock = new MemoryClock();
  const env = await startEnvironment({ clock, ...keeping({ deletedThreadsDays: 1 }) });
  const threads: ThreadId[] = [];
  for (let i = 0; i < 23; i += 1) {
    const threadId = await env.newThread({ title: `MANYWORD ${i}` });
    await env.send({ type: "thread.delete", threadId });
    threads.push(threadId);
  }
  await days(env, clock, 1);
  const asked = () => threads.filter((id) => env.threads.get(id)?.purge !== undefined).length;
  expect(asked()).toBe(10);
  expect((seen(env).nextLookAt ?? 0) - clock.now()).toBeLessThan(day);
  await env.say(await env.newThread(), "still there?");
  await nextLook(env, clock);
  await nextLook(env, clock);
  expect(asked()).toBe(23);
  expect((seen(env).nextLookAt ?? 0) - clock.now()).toBe(day);
  await until(() => threads.every((id) => isGone(env, id)), "all to go", 60_000);
  expect(inFolder(env, "MANYWORD")).toEqual([]);
});

test("an environment that is killed in the middle of it finishes at its next start, and empties nothing else", {
  timeout: 120_000,
}, async () => {
  const env = await startEnvironment(keeping({ deletedThreadsDays: 2 }));
  const kept = await env.newThread();
  await env.say(kept, "KEPTWORD");
  const threads = [await deletedThread(env, "FIRSTWORD"), await deletedThread(env, "SECONDWORD")];
  await env.close();
  earlier(env.dir, 2);
  await killedEnvironment({ dir: env.dir, commands: [{ until: "never", newestRunOf: kept }], killAt: "after step purge.thread_emptied" });
  const again = await env.restart();
  await until(() => threads.every((id) => isGone(again, id)), "both to go", 60_000);
  for (const word of ["FIRSTWORD", "SECONDWORD"]) expect(inFolder(again, word)).toEqual([]);
  expect(JSON.stringify(again.threads.items(kept))).toContain("KEPTWORD");
  expect(again.health()).toMatchObject({ setAside: [], effectsSetAside: [], retention: { waiting: 0, held: 0 } });
});

test("a backup made without a word keeps as many as configured in its folder, running or not; a word counts more", {
  timeout: 120_000,
}, async () => {
  const env = await startEnvironment(keeping({ backupsKept: 2 }));
  const to = temporaryFolder();
  const made = [];
  for (let i = 0; i < 3; i += 1) made.push(await env.backups.make({ to }));
  const paths = () => env.backups.list().map((b) => b.path);
  expect(made[2]?.removed).toEqual([made[0]?.path]);
  expect(paths()).toHaveLength(2);
  await env.backups.make({ to, keep: 10 });
  expect(paths()).toHaveLength(3);
  await env.close();
  expect((await backUpStopped(env.dir, { to })).removed).toHaveLength(2);
  const again = await env.restart();
  expect(again.backups.list()).toHaveLength(2);
  expect(seen(again)).toMatchObject({ backupsKept: 2, deletedThreadsDays: null, nextLookAt: null });
});
