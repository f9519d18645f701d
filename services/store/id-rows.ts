import type { Store } from "../runtime/ports/store.ts";
import type { Statements } from "./statements.ts";

/** Where ids of a noun are, and by which column what belongs to a thread is found. */
const tables: Record<string, { table: string; owner: string | null }> = {
  handoff: { table: "handoffs", owner: null },
  checkpoint: { table: "checkpoints", owner: "thread_id" },
  project: { table: "projects", owner: null },
};

/** Ids by their beginning, read off an index: the largest first, which is the newest where ids sort by time. */
export function idsFrom(statements: Statements, ...[noun, beginning, limit, of]: Parameters<Store["idsFrom"]>): string[] {
  const { table, owner } = tables[noun] ?? { table: "actors", owner: "owner" };
  const isActor = table === "actors";
  const conditions = [
    "id >= ? and id < ?",
    ...(isActor ? ["kind = ?"] : []),
    ...(of !== undefined && owner !== null ? [`${owner} = ?`] : []),
  ];
  return statements
    .all<{ id: string }>(
      `select id from ${table} where ${conditions.join(" and ")} order by id desc limit ?`,
      beginning,
      // Above every text that begins so; ids are ASCII.
      `${beginning}\u{7f}`,
      ...(isActor ? [noun] : []),
      ...(of !== undefined && owner !== null ? [of] : []),
      limit,
    )
    .map(({ id }) => id);
}
