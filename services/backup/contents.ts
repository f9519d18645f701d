import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { BackupFile } from "../../schemas/backup.ts";
import { copyMeasured } from "./files.ts";

/** Where a backup keeps the files of an environment's folder. */
export const filesFolder = "files";

/**
 * What is not copied from an environment's folder: the store and what goes with it (copied otherwise, or this process's
 * alone), worktrees (kept as bundles), logs, and backups.
 */
const passedOver = [/^ropewalk\.db/, /^lock\.db/, /^openings(\.new)?$/, /\.sock$/, /^worktrees$/, /^backups$/, /\.log(\.\d+)?(\.gz)?$/];
const passedOverFolders = ["logs"];
const maxEntries = 100_000;

/** Plain files of an environment's folder that belong into a backup, as paths below it with `/`. */
export async function filesOf(dir: string, butNot: string): Promise<{ files: string[]; leftOut: string[] }> {
  const files: string[] = [];
  const leftOut: string[] = [];
  const folders = [""];
  for (let folder = folders.shift(); folder !== undefined; folder = folders.shift()) {
    for (const entry of await readdir(join(dir, folder), { withFileTypes: true })) {
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
      if (folder === "" && (passedOver.some((name) => name.test(entry.name)) || passedOverFolders.includes(entry.name))) continue;
      if (join(dir, path) === butNot || entry.name.endsWith(".new")) continue;
      if (entry.isDirectory()) folders.push(path);
      else if (files.length >= maxEntries || (!entry.isFile() && !entry.isSocket()) || /[\\\ufffd]/.test(path)) leftOut.push(path);
      else if (entry.isFile()) files.push(path);
    }
  }
  return { files: files.sort(), leftOut };
}

/** Copies them below `to`; one that is gone meanwhile was not needed, one that cannot be read is named. */
export async function copyFiles(
  dir: string,
  paths: readonly string[],
  to: string,
  onFile: (done: number) => void,
): Promise<{ copied: BackupFile[]; leftOut: string[] }> {
  const copied: BackupFile[] = [];
  const leftOut: string[] = [];
  for (const [at, path] of paths.entries()) {
    onFile(at);
    try {
      copied.push({ path: `${filesFolder}/${path}`, ...(await copyMeasured(join(dir, path), join(to, filesFolder, path))) });
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "ENOSPC" || code === "EDQUOT") throw error;
      if (existsSync(join(dir, path))) leftOut.push(path);
    }
  }
  return { copied, leftOut };
}
