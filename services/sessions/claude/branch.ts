import { type Entry, text } from "../fields.ts";

/** Entries of one session's file that can be linked; a file with more is not read. */
export const maxNodes = 1_000_000;
const none = -1;

/**
 * The tree of a session's entries, and its active branch: the chain from the last message back to the first. Entries are
 * known by their line, since a file may hold one uuid twice (a compaction writes some of what it keeps again).
 */
export class Branch {
  readonly #latest = new Map<string, number>();
  readonly #lines: number[] = [];
  readonly #parents: number[] = [];
  /** Places of entries that follow a compaction, whose history may be elsewhere. */
  readonly #afterNothing = new Set<number>();
  readonly #missing = new Map<number, string>();
  #leaf = none;
  #unreadableSince = false;

  get size(): number {
    return this.#lines.length;
  }

  /** Entries come in the order of the file. Those of a subagent's own conversation are not part of it. */
  add(value: Entry, line: number): void {
    const uuid = text(value.uuid);
    if (uuid === null || value.isSidechain === true) return;
    const place = this.#lines.length;
    const isBoundary = value.type === "system" && value.subtype === "compact_boundary";
    const parent = text(value.parentUuid) ?? (isBoundary ? text(value.logicalParentUuid) : null);
    const known = parent === null ? none : (this.#latest.get(parent) ?? none);
    this.#lines.push(line);
    this.#parents.push(known);
    if (isBoundary && known === none) this.#afterNothing.add(place);
    else if (parent !== null && known === none) {
      // Where the line right before cannot be read, its parent was there; the entry before that one is the next that is known.
      if (this.#unreadableSince && place > 0) this.#parents[place] = place - 1;
      else this.#missing.set(place, parent);
    }
    this.#latest.set(uuid, place);
    this.#unreadableSince = false;
    if (value.type === "user" || value.type === "assistant") this.#leaf = place;
  }

  /** A line that could not be read. */
  gap(): void {
    this.#unreadableSince = true;
  }

  has(uuid: string): boolean {
    return this.#latest.has(uuid);
  }

  /** Lines of the active branch; `summary`: lines whose text stands for a history that is not in the file. */
  active(): { lines: Set<number>; summary: Set<number>; missing: { line: number; uuid: string } | null } {
    const lines = new Set<number>();
    const summary = new Set<number>();
    let missing: { line: number; uuid: string } | null = null;
    let child = none;
    // A parent always comes before its child, so this ends.
    for (let at = this.#leaf; at !== none; at = this.#parents[at] ?? none) {
      lines.add(this.#lines[at] ?? 0);
      if (this.#afterNothing.has(at) && child !== none) summary.add(this.#lines[child] ?? 0);
      const uuid = this.#missing.get(at);
      if (uuid !== undefined) missing = { line: this.#lines[at] ?? 0, uuid };
      child = at;
    }
    return { lines, summary, missing };
  }
}
