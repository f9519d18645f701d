import type { Store } from "../runtime/ports/store.ts";
import type { Statements } from "./statements.ts";

const tables = { handoff: "handoffs", checkpoint: "checkpoints", project: "projects" } as const;

/** Ids by their beginning, read off the index on the ids: the largest first, which is the newest where ids sort by time. */
export function idsFrom(statements: Statements, ...[noun, beginning, limit]: Parameters<Store["idsFrom"]>): string[] {
  const [table, only] = noun in tables ? [tables[noun as keyof typeof tables], ""] : ["actors", " and kind = ?"];
  return statements
    .all<{ id: string }>(
      `select id from ${table} where id >= ? and id < ?${only} order by id desc limit ?`,
      beginning,
      // Above every text that begins so; ids are ASCII.
      `${beginning}\u{7f}`,
      ...(only === "" ? [] : [noun]),
      limit,
    )
    .map(({ id }) => id);
}
