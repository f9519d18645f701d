import { closeSync, fsyncSync, openSync, readFileSync, renameSync, statSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";

/** How often the store was opened, the newest commit that was seen, and when the store's main file was written last. */
export type Openings = { openings: number; commit: number; written: bigint };

/**
 * The file `openings` beside the store. It is written after the store, always, so it can be behind an honest store but
 * never ahead of it: one that is ahead tells of a store that was put back (see identity.ts).
 */
export class OpeningsFile {
  readonly #openings: number;
  readonly #store: string;
  readonly #fd: number;

  /** Writes the count of an opening, whole and synced, and keeps the file open for the notes to come. */
  constructor(dir: string, store: string, first: Pick<Openings, "openings" | "commit">) {
    const path = join(dir, "openings");
    const fresh = `${path}.new`;
    this.#openings = first.openings;
    this.#store = store;
    const fd = openSync(fresh, "w", 0o600);
    try {
      writeFileSync(fd, this.#line(first.commit));
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
    const [, openings, commit, written] = /^ *(\d+) +(\d+) +(\d+)\n$/.exec(text) ?? [];
    if (openings === undefined || commit === undefined || written === undefined) return "unreadable";
    return { openings: Number(openings), commit: Number(commit), written: BigInt(written) };
  }

  /**
   * Notes a commit, a few microseconds, unsynced: it survives the end of the process, which is what it is for. A note that
   * cannot be written is left out: the file is then only behind.
   */
  note(commit: number): void {
    try {
      writeSync(this.#fd, this.#line(commit), 0);
    } catch {
      // behind, and honest
    }
  }

  close(): void {
    closeSync(this.#fd);
  }

  /** Always of the same length, so that one write in place replaces all of it. */
  #line(commit: number): string {
    return `${pad(this.#openings)} ${pad(commit)} ${pad(writtenAt(this.#store))}\n`;
  }
}

/** When a file was written last, in nanoseconds. It is not opened for this: closing it again would free its locks. */
export function writtenAt(file: string): bigint {
  return statSync(file, { bigint: true }).mtimeNs;
}

const pad = (n: number | bigint) => String(n).padStart(20);
