import { existsSync, realpathSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { backup, DatabaseSync } from "node:sqlite";
import type { Project } from "../../schemas/project.ts";
import type { AppThread } from "../../schemas/thread.ts";
import { StoreFailure } from "../runtime/ports/store.ts";
import { asThread } from "../runtime/typed-actors.ts";
import { ActorRows } from "./actor-rows.ts";
import { storeFailure } from "./failure.ts";
import { inspectStore } from "./inspection.ts";
import { FolderLock } from "./lock.ts";
import { newestVersion, versionOf } from "./migrations.ts";
import { RecordRows } from "./record-rows.ts";
import { SetAside } from "./set-aside.ts";
import { Statements } from "./statements.ts";

/** Pages that are copied in one go, with others' work in between. */
const pagesAtOnce = 256;

/**
 * Copies a store that is in use, whole and as of one commit, into a file that needs no log beside it. Others are held up by
 * no more than a few pages at a time. `onProgress` is told a share from 0 to 1.
 */
export async function copyDatabase(db: DatabaseSync, to: string, onProgress: (share: number) => void): Promise<void> {
  try {
    await backup(db, to, {
      rate: pagesAtOnce,
      progress: ({ totalPages, remainingPages }) => onProgress(totalPages === 0 ? 1 : 1 - remainingPages / totalPages),
    });
    const copy = new DatabaseSync(to);
    try {
      copy.exec("pragma journal_mode = delete");
    } finally {
      copy.close();
    }
  } catch (error) {
    throw storeFailure(error, to);
  }
}

/**
 * The same of an environment that is not running, which is kept from starting until `work` is done. Nothing of the store is
 * changed, and a store of an earlier version stays one. Throws StoreFailure: `store_locked`, `store_newer`, `store_damaged`.
 */
export async function withStoppedStore<T>(
  dir: string,
  work: (copyTo: (path: string, onProgress: (share: number) => void) => Promise<void>, folder: string) => Promise<T>,
): Promise<T> {
  const folder = realpathSync(dir);
  const path = join(folder, "ropewalk.db");
  const lock = new FolderLock(folder);
  try {
    // What merely reading leaves beside a store that was closed well.
    const leavings = [`${path}-wal`, `${path}-shm`].filter((file) => !existsSync(file));
    inspectStore(folder, path);
    const db = new DatabaseSync(path, { readOnly: true });
    try {
      return await work((to, onProgress) => copyDatabase(db, to, onProgress), folder);
    } finally {
      db.close();
      for (const file of leavings) rmSync(file, { force: true });
    }
  } finally {
    lock.release();
  }
}

/** What a backup has to know of the store that it holds. */
export type CopiedStore = { commit: number; projects: Project[]; threads: AppThread[] };

/** Reads a copy, of this or an earlier version, as it is. Throws StoreFailure: `store_newer`, `store_damaged`. */
export function readCopy(path: string): CopiedStore {
  let db: DatabaseSync | null = null;
  try {
    db = new DatabaseSync(path, { readOnly: true });
    const version = versionOf(db);
    if (version > newestVersion)
      throw new StoreFailure("store_newer", `the store has version ${version}`, "Use the newer ropewalk that wrote it.");
    const statements = new Statements(db, path);
    const setAside = new SetAside();
    const commit = statements.get<{ seq: number }>("select coalesce(max(seq), 0) as seq from commits")?.seq ?? 0;
    const threads = new ActorRows(statements, setAside)
      .by({ kind: "thread", statuses: ["idle", "running", "departing", "departed"] })
      .map(asThread);
    return { commit, projects: new RecordRows(statements, setAside).projects(), threads };
  } catch (error) {
    throw storeFailure(error, path);
  } finally {
    db?.close();
  }
}

/** Whether some process has the environment of this folder. */
export function isHeld(dir: string): boolean {
  if (statSync(join(dir, "lock.db"), { throwIfNoEntry: false }) === undefined) return false;
  try {
    new FolderLock(dir).release();
    return false;
  } catch (error) {
    if (error instanceof StoreFailure && error.reason === "store_locked") return true;
    throw error;
  }
}
