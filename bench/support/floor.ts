import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { migrate } from "../../services/store/migrations.ts";
import { withFolder } from "./folder.ts";
import { replayWrites, type Write } from "./recording.ts";

/**
 * What a run's writes cost by themselves: the same rows, bytes and commits by bare prepared statements, into a new
 * database with the same tables and the same durability. Milliseconds.
 */
export function floorOf(writes: readonly Write[]): Promise<number> {
  return withFolder(async (dir) => {
    const db = new DatabaseSync(join(dir, "floor.db"));
    try {
      db.exec("pragma journal_mode = wal; pragma synchronous = full; pragma cache_size = -32000");
      migrate(db);
      return replayWrites(db, writes);
    } finally {
      db.close();
    }
  });
}

/** Commits and bytes of what was recorded. */
export function sizeOf(writes: readonly Write[]): { rows: number; commits: number; bytes: number } {
  let [rows, commits, bytes] = [0, 0, 0];
  for (const { sql, values } of writes) {
    if (sql === "commit") commits += 1;
    else if (values !== null && values.length > 0) {
      rows += 1;
      for (const v of values) bytes += typeof v === "string" ? v.length : v instanceof Uint8Array ? v.length : 8;
    }
  }
  return { rows, commits, bytes };
}
