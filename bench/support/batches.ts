import { emptyBatch } from "../../services/runtime/empty-batch.ts";
import type { ActorRow, CommitBatch } from "../../services/runtime/ports/store.ts";

/** A commit of the named rows and nothing else. */
export function batchOf(rows: Partial<CommitBatch>): CommitBatch {
  return { ...emptyBatch(Date.now()), ...rows };
}

/** A row like another one, under its own id and with other members of its context. */
export function rowLike(row: ActorRow, id: ActorRow["id"], context: object, keys: Partial<ActorRow> = {}): ActorRow {
  return { ...row, id, context: { ...(row.context as object), id, ...context }, ...keys };
}
