import { StoreFailure } from "../runtime/ports/store.ts";

/** SQLite's primary result codes, by what they mean for whoever opened or wrote the store. */
const FULL = 13;
const BUSY = 5;
const LOCKED = 6;
const CORRUPT = 11;
const NOTADB = 26;
const READONLY = 8;
const CANTOPEN = 14;
const IOERR = 10;
const ioError = (detail: number) => IOERR | (detail << 8);
/** An fsync that failed, of a file or of its folder: what was written before it may be gone, whatever the file says. */
const syncFailures = new Set([ioError(4), ioError(5)]);
/** Writes beyond a quota, a file's size limit or what the file system can map: space, in the end. */
const noSpace = new Set([ioError(3), ioError(19)]);
/** A short read, a wrong checksum, a file system that found itself damaged. */
const damage = new Set([ioError(2), ioError(32), ioError(33)]);

/** What the system says of a plain file beside the database. */
const systemCodes: Record<string, "full" | "unwritable" | "io"> = {
  ENOSPC: "full",
  EDQUOT: "full",
  EFBIG: "full",
  EACCES: "unwritable",
  EPERM: "unwritable",
  EROFS: "unwritable",
  ENOTDIR: "unwritable",
  EIO: "io",
};

/** What SQLite or the system says, in our words. Anything unknown is passed on as it is. */
export function storeFailure(error: unknown, path: string): Error {
  if (!(error instanceof Error) || error instanceof StoreFailure) return error as Error;
  const kind = kindOf(error as Error & { errcode?: number; code?: string });
  const { message } = error;
  const cause = { cause: error };
  switch (kind) {
    case "sync":
      return new StoreFailure("sync_failed", `the disk did not confirm a write to ${path}`, "Check the disk, then start again.", cause);
    case "full":
      return new StoreFailure("disk_full", `no space left for ${path}`, "Free some space and send the command again.", cause);
    case "locked":
      return new StoreFailure(
        "store_locked",
        `another process works on ${path}`,
        "Use the environment that is running (ropewalk status), or stop it first.",
        cause,
      );
    case "damaged":
      return new StoreFailure("store_damaged", `${path} cannot be read as a store: ${message}`, "Restore a backup.", cause);
    case "unwritable":
      return new StoreFailure("store_unwritable", `${path} cannot be written: ${message}`, "Check the folder's owner and rights.", cause);
    case "io":
      return new StoreFailure(
        "io_error",
        `reading or writing ${path} failed: ${message}`,
        "Check the disk, then send the command again.",
        cause,
      );
    case null:
      return error;
  }
}

function kindOf({
  errcode,
  code,
}: {
  errcode?: number;
  code?: string;
}): "sync" | "full" | "locked" | "damaged" | "unwritable" | "io" | null {
  if (errcode === undefined) return systemCodes[code ?? ""] ?? null;
  if (syncFailures.has(errcode)) return "sync";
  if (noSpace.has(errcode)) return "full";
  if (damage.has(errcode)) return "damaged";
  switch (errcode & 0xff) {
    case FULL:
      return "full";
    case BUSY:
    case LOCKED:
      return "locked";
    case CORRUPT:
    case NOTADB:
      return "damaged";
    case READONLY:
    case CANTOPEN:
      return "unwritable";
    case IOERR:
      return "io";
    default:
      return null;
  }
}
