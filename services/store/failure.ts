import { StoreFailure } from "../runtime/ports/store.ts";

type SqliteError = Error & { errcode?: number; errstr?: string };

const primary = (code: number) => code & 0xff;
const FULL = 13;
const BUSY = 5;
const LOCKED = 6;
const CORRUPT = 11;
const NOTADB = 26;
const READONLY = 8;
const CANTOPEN = 14;
const IOERR = 10;
/** Extended codes of an fsync that failed: what was written before it may be gone, whatever the file says. */
const FSYNC = new Set([10 | (4 << 8), 10 | (5 << 8)]);

/** What SQLite says, in our words. Anything unknown is passed on as it is. */
export function storeFailure(error: unknown, path: string): Error {
  if (error instanceof StoreFailure) return error;
  const { errcode, message } = error as SqliteError;
  if (errcode === undefined) return error as Error;
  const cause = { cause: error };
  if (FSYNC.has(errcode))
    return new StoreFailure("sync_failed", `the disk did not confirm a write to ${path}`, "Check the disk, then start again.", cause);
  switch (primary(errcode)) {
    case FULL:
      return new StoreFailure("disk_full", `no space left for ${path}`, "Free some space and send the command again.", cause);
    case BUSY:
    case LOCKED:
      return new StoreFailure(
        "store_locked",
        `another process works on ${path}`,
        "Use the environment that is running (ropewalk status), or stop it first.",
        cause,
      );
    case CORRUPT:
    case NOTADB:
      return new StoreFailure("store_damaged", `${path} cannot be read as a store: ${message}`, "Restore a backup.", cause);
    case READONLY:
    case CANTOPEN:
      return new StoreFailure("store_unwritable", `${path} cannot be written: ${message}`, "Check the folder's owner and rights.", cause);
    case IOERR:
      return new StoreFailure("disk_full", `writing ${path} failed: ${message}`, "Check the disk and its free space.", cause);
    default:
      return error as Error;
  }
}
