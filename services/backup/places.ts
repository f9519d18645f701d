import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { z } from "zod";
import { Text } from "../../schemas/text.ts";
import { writeWhole } from "../runtime/whole-file.ts";

/** `backups.json` in an environment's folder: every backup of it that was begun, so that a purge finds what it must rewrite. */
const Places = z.strictObject({ version: z.literal(1), backups: z.array(Text) });

const placesFile = (dir: string) => join(dir, "backups.json");

/** Folders of backups, the oldest first, of those that are still there; also of what is not whole. */
export function backupPlaces(dir: string): string[] {
  return remembered(dir).flatMap((path) => [path, unfinishedName(path)].filter((folder) => existsSync(folder)));
}

/** What a backup is called until it is whole, and from when it is being removed. */
export const unfinishedName = (path: string): string => join(dirname(path), `.${basename(path)}.part`);

/** Before there is anything: a place that nobody remembers could not be purged. */
export function rememberPlace(dir: string, path: string): void {
  write(dir, [...remembered(dir).filter((known) => known !== path), path]);
}

/** After it is gone. */
export function forgetPlaces(dir: string, paths: readonly string[]): void {
  if (paths.length === 0) return;
  write(
    dir,
    remembered(dir).filter((path) => !paths.includes(path)),
  );
}

const write = (dir: string, backups: string[]) => writeWhole(placesFile(dir), `${JSON.stringify({ version: 1, backups }, null, 1)}\n`);

function remembered(dir: string): string[] {
  let text: string;
  try {
    text = readFileSync(placesFile(dir), "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
  return Places.parse(JSON.parse(text)).backups;
}
