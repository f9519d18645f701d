import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";

/** How often the store was opened, and the newest commit that was seen: kept in a file beside it. */
export type Openings = { openings: number; commit: number };

/**
 * The file `openings` beside the store. It is written after the store, always, so it can be behind an honest store but
 * never ahead of it: one that is ahead tells of a store that was put back (see identity.ts).
 */
export class OpeningsFile {
  readonly #openings: number;
  readonly #fd: number;

  /** Writes the count of an opening, whole and synced, and keeps the file open for the notes to come. */
  constructor(dir: string, first: Openings) {
    const path = join(dir, "openings");
    const fresh = `${path}.new`;
    this.#openings = first.openings;
    const fd = openSync(fresh, "w", 0o600);
    try {
      writeFileSync(fd, line(first));
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(fresh, path);
    this.#fd = openSync(path, "r+");
  }

  /** What an earlier opening wrote; null when there is no file, `unreadable` when it is damaged. */
  static read(dir: string): Openings | "unreadable" | null {
    let text: string;
    try {
      text = readFileSync(join(dir, "openings"), "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
      throw error;
    }
    const [, openings, commit] = /^ *(\d+) +(\d+)\n$/.exec(text) ?? [];
    return openings === undefined || commit === undefined ? "unreadable" : { openings: Number(openings), commit: Number(commit) };
  }

  /**
   * Notes a commit, a few microseconds, unsynced: it survives the end of the process, which is what it is for. A note that
   * cannot be written is left out: the file is then only behind.
   */
  note(commit: number): void {
    try {
      writeSync(this.#fd, line({ openings: this.#openings, commit }), 0);
    } catch {
      // behind, and honest
    }
  }

  close(): void {
    closeSync(this.#fd);
  }
}

/** Always of the same length, so that one write in place replaces all of it. */
function line({ openings, commit }: Openings): string {
  return `${String(openings).padStart(16)} ${String(commit).padStart(16)}\n`;
}
