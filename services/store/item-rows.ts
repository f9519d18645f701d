import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { ItemId, RunId } from "../../schemas/ids.ts";
import type { TurnItem } from "../../schemas/item.ts";
import type { ItemRange } from "../runtime/ports/store.ts";

type Stored = {
  position: number;
  id: string;
  thread_id: string;
  run_id: string | null;
  run_ordinal: number;
  native_id: string | null;
  truncated: number;
  created_at: number;
  body: string;
  commit_seq: number;
};

/** Reads turn items, in the order of a thread: by run, then as they came. */
export class ItemRows {
  readonly #db: DatabaseSync;
  readonly #oldestFirst: StatementSync;
  readonly #newestFirst: StatementSync;

  constructor(db: DatabaseSync) {
    this.#db = db;
    const range = "from items where thread_id = ? and run_ordinal between ? and ?";
    this.#oldestFirst = db.prepare(`select * ${range} and position > ? order by run_ordinal, position limit ?`);
    this.#newestFirst = db.prepare(`select * ${range} and position > ? order by run_ordinal desc, position desc limit ?`);
  }

  range(range: ItemRange, page: { afterPosition?: number; limit?: number; newestFirst?: boolean } = {}): TurnItem[] {
    const statement = page.newestFirst === true ? this.#newestFirst : this.#oldestFirst;
    const rows = statement.all(range.threadId, range.fromOrdinal, range.toOrdinal, page.afterPosition ?? 0, page.limit ?? -1);
    return (rows as unknown as Stored[]).map(parse);
  }

  get(id: ItemId): TurnItem | null {
    const row = this.#db.prepare("select * from items where id = ?").get(id) as Stored | undefined;
    return row === undefined ? null : parse(row);
  }

  afterCommit(commit: number, limit: number): { commit: number; item: TurnItem }[] {
    const rows = this.#db.prepare("select * from items where commit_seq > ? order by commit_seq, position limit ?").all(commit, limit);
    return (rows as unknown as Stored[]).map((r) => ({ commit: r.commit_seq, item: parse(r) }));
  }

  saveProgress(runId: RunId, text: string): void {
    this.#db.prepare("insert into progress values (?, ?) on conflict do update set text = excluded.text").run(runId, text);
  }

  progress(runId: RunId): string | null {
    return (this.#db.prepare("select text from progress where run_id = ?").get(runId) as { text: string } | undefined)?.text ?? null;
  }
}

function parse(row: Stored): TurnItem {
  return {
    id: row.id as TurnItem["id"],
    threadId: row.thread_id as TurnItem["threadId"],
    runId: row.run_id as TurnItem["runId"],
    runOrdinal: row.run_ordinal,
    position: row.position,
    nativeId: row.native_id,
    truncated: row.truncated === 1,
    createdAt: row.created_at,
    body: JSON.parse(row.body) as TurnItem["body"],
  };
}
