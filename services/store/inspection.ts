import { rmSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { StoreFailure } from "../runtime/ports/store.ts";
import { isCopied } from "./identity.ts";
import { newestVersion, versionOf } from "./migrations.ts";
import { type Openings, OpeningsFile, writtenAt } from "./openings.ts";
import { Statements } from "./statements.ts";

/**
 * Looks at a folder's store before anything of it is touched. One that a newer ropewalk has written, that is gone, or that
 * does not hold together is refused and stays as it is, byte for byte. Throws StoreFailure: `store_newer`, `store_damaged`.
 */
export function inspectStore(dir: string, path: string): void {
  const beside = OpeningsFile.read(dir);
  if (sizeOf(path) === 0) {
    refuseLost(beside, path);
    return;
  }
  // What merely looking leaves beside a store that was closed well.
  const leavings = [`${path}-wal`, `${path}-shm`].filter((file) => statSync(file, { throwIfNoEntry: false }) === undefined);
  // Never read through plain descriptors in this process: closing one frees its locks.
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    const version = versionOf(db);
    if (version > newestVersion) throw newer(version);
    if (version > 0) refuseMixed(new Statements(db, path), beside, path);
    db.close();
  } catch (error) {
    db.close();
    for (const file of leavings) rmSync(file, { force: true });
    throw error;
  }
}

/** A folder that had a store, and has none: starting with an empty one would forget what peers and people rely on. */
function refuseLost(beside: Openings | "unreadable" | null, path: string): void {
  if (beside === null || beside === "unreadable" || beside.commit === 0) return;
  throw new StoreFailure(
    "store_damaged",
    `${path} is empty or gone, although ${beside.commit} commits were made`,
    `Restore a backup; or, to begin with an empty store, remove the file "openings" beside it.`,
  );
}

/**
 * A main file that was put under another one's log opens without a complaint, and falls apart later. Where the file was
 * written by somebody else, or is a copy, all of it is looked at.
 */
function refuseMixed(statements: Statements, beside: Openings | "unreadable" | null, path: string): void {
  const lastCommit = statements.get<{ seq: number }>("select coalesce(max(seq), 0) as seq from commits")?.seq ?? 0;
  const untouched = beside !== null && beside !== "unreadable" && beside.written === writtenAt(path);
  if (untouched && !isCopied(statements, beside, path, lastCommit)) return;
  const found = statements.get<{ quick_check: string }>("pragma quick_check(1)")?.quick_check;
  const commits = statements.get<{ n: number }>("select count(*) as n from commits")?.n;
  if (found === "ok" && commits === lastCommit) return;
  throw new StoreFailure(
    "store_damaged",
    `${path} does not hold together: ${found === "ok" ? "commits are missing" : (found ?? "it cannot be read").trim()}`,
    "Restore a backup whole: its ropewalk.db, and neither ropewalk.db-wal nor ropewalk.db-shm of another one.",
  );
}

function newer(version: number): StoreFailure {
  return new StoreFailure(
    "store_newer",
    `the store has version ${version}, this ropewalk knows up to ${newestVersion}`,
    "Use the newer ropewalk that wrote it, or another folder (--dir).",
  );
}

const sizeOf = (file: string) => statSync(file, { throwIfNoEntry: false })?.size ?? 0;
