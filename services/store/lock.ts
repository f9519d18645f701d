import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { StoreFailure } from "../runtime/ports/store.ts";
import { storeFailure } from "./failure.ts";

/**
 * Keeps a second process out (decision 12): an exclusive transaction on a file of its own, held for life. The system frees
 * it when the process ends, however it ends; readers of the main file are not kept out.
 *
 * The same file counts how often the store was opened. A main file whose own count differs is a copy (see identity.ts).
 */
export class FolderLock {
  readonly #db: DatabaseSync;
  constructor(dir: string) {
    const path = join(dir, "lock.db");
    this.#db = new DatabaseSync(path);
    try {
      // The rollback journal, not the write-ahead log: only it makes `begin exclusive` keep out every other opener.
      this.#db.exec("pragma locking_mode = exclusive; pragma journal_mode = delete; pragma synchronous = full; begin exclusive");
    } catch (error) {
      this.#db.close();
      const failure = storeFailure(error, path);
      if (failure instanceof StoreFailure && failure.reason === "store_locked")
        throw new StoreFailure(
          "store_locked",
          `an environment is already running on ${dir}`,
          "Use it (ropewalk status), stop it, or choose another folder with --dir.",
          { cause: error },
        );
      throw failure;
    }
  }

  release(): void {
    this.#db.exec("rollback");
    this.#db.close();
  }
}
