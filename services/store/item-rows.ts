import type { ItemId, RunId } from "../../schemas/ids.ts";
import type { TurnItem } from "../../schemas/item.ts";
import type { ItemPage, ItemRange } from "../runtime/ports/store.ts";
import type { SetAside } from "./set-aside.ts";
import type { Statements } from "./statements.ts";

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
  readonly #statements: Statements;
  readonly #setAside: SetAside;

  constructor(statements: Statements, setAside: SetAside) {
    this.#statements = statements;
    this.#setAside = setAside;
  }

  range(range: ItemRange, page: ItemPage = {}): TurnItem[] {
    const range3 = [range.threadId, range.fromOrdinal, range.toOrdinal] as const;
    const backwards = page.newestFirst === true;
    const order = backwards ? "order by run_ordinal desc, position desc limit ?" : "order by run_ordinal, position limit ?";
    const within = "select * from items where thread_id = ? and run_ordinal between ? and ?";
    const limit = page.limit ?? -1;
    const rows =
      page.after === undefined
        ? this.#statements.all<Stored>(`${within} ${order}`, ...range3, limit)
        : this.#statements.all<Stored>(
            `${within} and (run_ordinal, position) ${backwards ? "<" : ">"} (?, ?) ${order}`,
            ...range3,
            page.after.runOrdinal,
            page.after.position,
            limit,
          );
    return rows.flatMap((row) => this.#parse(row) ?? []);
  }

  get(id: ItemId): TurnItem | null {
    const row = this.#statements.get<Stored>("select * from items where id = ?", id);
    return row === undefined ? null : this.#parse(row);
  }

  afterCommit(commit: number, limit: number): { commit: number; item: TurnItem }[] {
    const rows = this.#statements.all<Stored>(
      "select * from items where commit_seq > ? order by commit_seq, position limit ?",
      commit,
      limit,
    );
    return rows.flatMap((row) => {
      const item = this.#parse(row);
      return item === null ? [] : { commit: row.commit_seq, item };
    });
  }

  /** Unsynced: a few characters of an unfinished answer may be lost with the power, and cost no sync of the disk. */
  saveProgress(runId: RunId, text: string): void {
    this.#statements.exec("pragma synchronous = normal");
    try {
      this.#statements.run("insert into progress values (?, ?) on conflict do update set text = excluded.text", runId, text);
    } finally {
      this.#statements.exec("pragma synchronous = full");
    }
  }

  progress(runId: RunId): string | null {
    return this.#statements.get<{ text: string }>("select text from progress where run_id = ?", runId)?.text ?? null;
  }

  #parse(row: Stored): TurnItem | null {
    return this.#setAside.read(row.id, () => ({
      id: row.id as TurnItem["id"],
      threadId: row.thread_id as TurnItem["threadId"],
      runId: row.run_id as TurnItem["runId"],
      runOrdinal: row.run_ordinal,
      position: row.position,
      nativeId: row.native_id,
      truncated: row.truncated === 1,
      createdAt: row.created_at,
      body: JSON.parse(row.body) as TurnItem["body"],
    }));
  }
}
