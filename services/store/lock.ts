import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { StoreFailure } from "../runtime/ports/store.ts";
import { storeFailure } from "./failure.ts";

/**
 * Keeps a second process out (decision 12): an exclusive transaction on an empty file of its own, held for life. The system
 * frees it when the process ends, however it ends; readers of the main file are not kept out.
 *
 * Nothing in this process may open and close the file by other means: closing any descriptor of a file frees all of the
 * process's POSIX locks on it.
 */
export class FolderLock {
  readonly #db: DatabaseSync;

  constructor(dir: string) {
    const path = join(dir, "lock.db");
    let db: DatabaseSync | null = null;
    try {
      db = new DatabaseSync(path);
      // The rollback journal, not the write-ahead log: only it makes `begin exclusive` keep out every other opener.
      db.exec("pragma locking_mode = exclusive; pragma journal_mode = delete; pragma synchronous = full; begin exclusive");
    } catch (error) {
      db?.close();
      throw told(error, dir, path);
    }
    this.#db = db;
  }

  release(): void {
    this.#db.exec("rollback");
    this.#db.close();
  }
}

function told(error: unknown, dir: string, path: string): Error {
  const failure = storeFailure(error, path);
  if (!(failure instanceof StoreFailure)) return failure;
  const cause = { cause: error };
  if (failure.reason === "store_locked")
    return new StoreFailure(
      "store_locked",
      `an environment is already running on ${dir}`,
      "Use it (ropewalk status), stop it, or choose another folder with --dir.",
      cause,
    );
  if (failure.reason === "store_damaged")
    return new StoreFailure(
      "store_damaged",
      `${path} is not the empty lock file that it should be`,
      "Move it away; it holds nothing.",
      cause,
    );
  return failure;
}
