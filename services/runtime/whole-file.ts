import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Writes a small file whole or not at all, and on the disk before this returns; readable by its owner alone, unless `mode`
 * says otherwise. What is written beside it first is always a file of its own, never one that somebody had put there. Throws
 * what the system says.
 */
export function writeWhole(path: string, text: string, mode = 0o600): void {
  const fresh = `${path}.new`;
  try {
    rmSync(fresh, { force: true });
    const fd = openSync(fresh, "wx", mode);
    try {
      writeFileSync(fd, text);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(fresh, path);
  } catch (error) {
    rmSync(fresh, { force: true });
    throw error;
  }
  syncFolder(dirname(path));
}

/** What was put into a folder, or renamed in it, stays so after a power cut. Not every system can do it. */
export function syncFolder(folder: string): void {
  let fd: number | null = null;
  try {
    fd = openSync(folder, "r");
    fsyncSync(fd);
  } catch {
    // Windows lets nobody open a folder.
  } finally {
    if (fd !== null) closeSync(fd);
  }
}
