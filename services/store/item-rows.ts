import type { ItemId, RunId } from "../../schemas/ids.ts";
import type { TurnItem } from "../../schemas/item.ts";
import type { ItemPage, ItemRange, ItemSize } from "../runtime/ports/store.ts";
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

type Place = { runOrdinal: number; position: number };

/** Reads turn items, in the order of a thread: by run, then as they came. */
export class ItemRows {
  readonly #statements: Statements;
  readonly #setAside: SetAside;

  constructor(statements: Statements, setAside: SetAside) {
    this.#statements = statements;
    this.#setAside = setAside;
  }

  range(range: ItemRange, page: ItemPage = {}): TurnItem[] {
    const { after, limit = -1, newestFirst: backwards = false } = page;
    const order = backwards ? "order by run_ordinal desc, position desc" : "order by run_ordinal, position";
    const rows =
      after === undefined
        ? this.#statements.all<Stored>(
            `select * from items where thread_id = ? and run_ordinal between ? and ? ${order} limit ?`,
            range.threadId,
            range.fromOrdinal,
            range.toOrdinal,
            limit,
          )
        : this.#behind(range, after, backwards, limit);
    return rows.flatMap((row) => this.#parse(row) ?? []);
  }

  /** Entered where the earlier page ended: bounds of the range beside it would make the index pass over a whole run again. */
  #behind(range: ItemRange, after: { runOrdinal: number; position: number }, backwards: boolean, limit: number): Stored[] {
    const { fromOrdinal, toOrdinal } = range;
    const isOutside = backwards ? after.runOrdinal > toOrdinal : after.runOrdinal < fromOrdinal;
    const outside = backwards ? [toOrdinal, Number.MAX_SAFE_INTEGER] : [fromOrdinal, 0];
    const [ordinal = 0, position = 0] = isOutside ? outside : [after.runOrdinal, after.position];
    const [order, behind] = backwards ? ["order by run_ordinal desc, position desc", "<"] : ["order by run_ordinal, position", ">"];
    return this.#statements
      .all<Stored>(
        `select * from items where thread_id = ? and (run_ordinal, position) ${behind} (?, ?) ${order} limit ?`,
        range.threadId,
        ordinal,
        position,
        limit,
      )
      .filter((row) => row.run_ordinal >= fromOrdinal && row.run_ordinal <= toOrdinal);
  }

  /** What a page would load, newest first: sizes stand in a row's head, so the rows themselves are not read. */
  sizes(range: ItemRange, limit: number, before?: ItemPage["after"]): ItemSize[] {
    const { where, values } = within(range, before);
    return this.#statements.all<ItemSize>(
      `select run_ordinal as runOrdinal, position, octet_length(body) as bytes from items where ${where}
       order by run_ordinal desc, position desc limit ?`,
      ...values,
      limit,
    );
  }

  /** Exactly the items of a thread between two places, both included, as {@link sizes} has named them. */
  between(threadId: string, from: Place, to: Place): TurnItem[] {
    return this.#statements
      .all<Stored>(
        `select * from items where thread_id = ? and (run_ordinal, position) >= (?, ?) and (run_ordinal, position) <= (?, ?)
         order by run_ordinal, position`,
        threadId,
        from.runOrdinal,
        from.position,
        to.runOrdinal,
        to.position,
      )
      .flatMap((row) => this.#parse(row) ?? []);
  }

  /** Items of one thread that commits after `commit` have brought, in the thread's order; `limit` at most. */
  ofThreadAfter(threadId: string, commit: number, limit: number): TurnItem[] {
    return this.#statements
      .all<Stored>(
        "select * from items where commit_seq > ? and thread_id = ? order by run_ordinal, position limit ?",
        commit,
        threadId,
        limit,
      )
      .flatMap((row) => this.#parse(row) ?? []);
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

/** One upper bound and one lower one, so that the index goes straight to the first row, however far back it is. */
function within({ threadId, fromOrdinal, toOrdinal }: ItemRange, before?: Place): { where: string; values: (string | number)[] } {
  return before === undefined
    ? { where: "thread_id = ? and run_ordinal between ? and ?", values: [threadId, fromOrdinal, toOrdinal] }
    : {
        where: "thread_id = ? and (run_ordinal, position) >= (?, 0) and (run_ordinal, position) < (?, ?)",
        values: [threadId, fromOrdinal, before.runOrdinal, before.position],
      };
}
