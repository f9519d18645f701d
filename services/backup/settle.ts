import { readFileSync } from "node:fs";
import { join } from "node:path";
import { RestoredNote } from "../../schemas/backup.ts";
import { writeWhole } from "../runtime/whole-file.ts";
import { noteName } from "./restore.ts";

/** What the folder's first start after a restore is to settle; null when there is nothing. */
export function unsettledRestore(dir: string): RestoredNote | null {
  try {
    const note = RestoredNote.parse(JSON.parse(readFileSync(join(dir, noteName), "utf8")));
    return note.isSettled ? null : note;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

export function noteSettled(dir: string, note: RestoredNote): void {
  writeWhole(join(dir, noteName), `${JSON.stringify({ ...note, isSettled: true }, null, 1)}\n`);
}
