import { cpSync, mkdirSync, readFileSync, renameSync, rmdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openStore } from "../../../services/store/sqlite-store.ts";
import { batchOf, ids, newItem } from "../../support/commit-batches.ts";
import { temporaryFolder } from "../../support/environments.ts";
import { withDatabase } from "../../support/store-fixtures.ts";
import { storeFile } from "../../support/stores.ts";
import { processOn, type Told } from "./processes.ts";

/** Opens, makes some commits, says what it is, closes. */
function visit(dir: string, commits = 0): Told {
  const store = openStore(dir);
  for (let i = 0; i < commits; i += 1) store.commit(batchOf({ items: [newItem(ids.next("thread"))] }));
  const told = { incarnation: store.incarnation, previous: store.previousIncarnation, lastCommit: store.lastCommit };
  store.close();
  return told;
}

/** Another file's bytes in the very same file: what `cp copy ropewalk.db` does. */
function putBack(dir: string, bytes: Buffer): void {
  const inode = statSync(storeFile(dir)).ino;
  writeFileSync(storeFile(dir), bytes);
  expect(statSync(storeFile(dir)).ino).toBe(inode);
}

function expectCopyOf(original: Told, found: Told): void {
  expect(found.incarnation).not.toBe(original.incarnation);
  expect(found.previous).toBe(original.incarnation);
}

test("a store that is closed and opened again is the same incarnation", () => {
  const dir = temporaryFolder();
  const first = visit(dir, 3);
  expect(first.previous).toBeNull();
  for (let i = 0; i < 3; i += 1) expect(visit(dir, 1)).toEqual({ ...first, lastCommit: 4 + i });
});

test("a store whose process was killed is the same incarnation, with everything that was committed", async () => {
  const dir = temporaryFolder();
  const first = await processOn(dir, 5);
  await first.kill();
  const second = await processOn(dir, 150);
  expect(second).toMatchObject({ incarnation: first.incarnation, previous: null, lastCommit: 155 });
  await second.kill();
  expect(visit(dir)).toEqual({ incarnation: first.incarnation, previous: null, lastCommit: 155 });
});

test("a folder that was moved is the same incarnation", () => {
  const dir = temporaryFolder();
  mkdirSync(join(dir, "here"));
  const first = visit(join(dir, "here"), 2);
  renameSync(join(dir, "here"), join(dir, "there"));
  expect(visit(join(dir, "there"))).toEqual(first);
});

test("a copy of the folder is a new incarnation that knows what it was; the original stays what it is", () => {
  const [dir, copy] = [temporaryFolder(), temporaryFolder()];
  const first = visit(dir, 2);
  cpSync(dir, copy, { recursive: true, preserveTimestamps: true });
  const second = visit(copy);
  expectCopyOf(first, second);
  expect(visit(copy)).toEqual({ ...second, previous: null });
  expect(visit(dir)).toEqual(first);
});

test("a database that was copied alone into another folder is a new incarnation", () => {
  const [dir, copy] = [temporaryFolder(), temporaryFolder()];
  const first = visit(dir, 2);
  cpSync(storeFile(dir), storeFile(copy));
  expectCopyOf(first, visit(copy));
});

/** A folder that a process works in may lose a file between being listed and being copied, as for any program that copies. */
function copyLive(from: string, to: string, tries = 20): void {
  try {
    cpSync(from, to, { recursive: true });
  } catch (error) {
    if (tries === 0 || (error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    copyLive(from, to, tries - 1);
  }
}

test("a copy that a running process's folder gave is a new incarnation", async () => {
  const [dir, copy] = [temporaryFolder(), temporaryFolder()];
  const first = await processOn(dir, 20);
  copyLive(dir, copy);
  const second = visit(copy);
  expectCopyOf(first, second);
  expect(second.lastCommit).toBe(20);
  await first.kill();
});

test("an older copy put back in place, from an earlier opening, is a new incarnation", () => {
  const dir = temporaryFolder();
  const first = visit(dir, 2);
  const older = readFileSync(storeFile(dir));
  visit(dir);
  putBack(dir, older);
  expectCopyOf(first, visit(dir));
});

test("an older copy put back in place, from the same opening, is a new incarnation, however short the time between", async () => {
  const dir = temporaryFolder();
  visit(dir, 2);
  // One process: a copy is made at commit 2, one more commit follows at once, and the process is killed.
  const store = openStore(dir);
  const copied = withDatabase(storeFile(dir), (db) => {
    db.exec(`vacuum into '${join(dir, "backup.db")}'`);
    return readFileSync(join(dir, "backup.db"));
  });
  store.commit(batchOf({}));
  const incarnation = store.incarnation;
  const files = ["ropewalk.db", "openings"].map((f) => [f, readFileSync(join(dir, f))] as const);
  store.close();
  // As a kill would have left it, but for the log, which a person who restores takes away.
  for (const [file, bytes] of files) writeFileSync(join(dir, file), bytes);
  putBack(dir, copied);
  expectCopyOf({ incarnation, previous: null, lastCommit: 3 }, visit(dir));
});

test("the newest copy put back in place is the same incarnation, since nothing was lost", () => {
  const dir = temporaryFolder();
  const first = visit(dir, 2);
  const bytes = readFileSync(storeFile(dir));
  putBack(dir, bytes);
  expect(visit(dir)).toEqual(first);
});

test("a process that died between the two writes of an opening leaves the same incarnation, also at the first opening", () => {
  for (const commits of [0, 3]) {
    const dir = temporaryFolder();
    const first = commits === 0 ? null : visit(dir, commits);
    // The second write fails where a folder is in its way.
    mkdirSync(join(dir, "openings.new"));
    expect(() => openStore(dir)).toThrow();
    const remembered = withDatabase(
      storeFile(dir),
      (db) => db.prepare("select value from meta where key = 'incarnation'").get() as { value: string },
    );
    rmdirSync(join(dir, "openings.new"));
    const after = visit(dir, 1);
    expect(after).toEqual({ incarnation: first?.incarnation ?? remembered.value, previous: null, lastCommit: commits + 1 });
    expect(visit(dir)).toEqual(after);
  }
});

test("a store whose count of openings was lost or damaged takes itself for a copy, to be on the safe side", () => {
  const dir = temporaryFolder();
  visit(dir, 1);
  const first = visit(dir);
  rmSync(join(dir, "openings"));
  const second = visit(dir);
  expectCopyOf(first, second);
  writeFileSync(join(dir, "openings"), "torn");
  expectCopyOf(second, visit(dir));
});

test("a copy of a copy is a third incarnation", () => {
  const [a, b, c] = [temporaryFolder(), temporaryFolder(), temporaryFolder()];
  const first = visit(a, 1);
  cpSync(a, b, { recursive: true });
  const second = visit(b);
  cpSync(b, c, { recursive: true });
  const third = visit(c);
  expectCopyOf(second, third);
  expect(new Set([first, second, third].map((t) => t.incarnation)).size).toBe(3);
});
