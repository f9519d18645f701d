import { StoreFailure } from "../runtime/ports/store.ts";

/** Rows that cannot be read: kept where they are and shown; the rest goes on (case R04). */
export class SetAside {
  readonly #reasons = new Map<string, string>();

  list(): { id: string; reason: string }[] {
    return [...this.#reasons].map(([id, reason]) => ({ id, reason }));
  }

  /** What `parse` makes of the row, or null when it cannot be read. */
  read<T>(id: string, parse: () => T): T | null {
    try {
      const row = parse();
      this.#reasons.delete(id);
      return row;
    } catch (error) {
      this.#reasons.set(id, error instanceof Error ? error.message : String(error));
      return null;
    }
  }
}

/**
 * A row that must not be taken for one that is not there, since then something would be done a second time: a link's
 * positions, an answer that was given.
 */
export function parseOrFail<T>(what: string, json: string): T {
  try {
    return JSON.parse(json) as T;
  } catch (cause) {
    throw new StoreFailure("store_damaged", `${what} cannot be read`, "Restore a backup.", { cause });
  }
}
