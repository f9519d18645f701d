import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { ActorId, ActorKind } from "../../schemas/ids.ts";
import type { ActorQuery, ActorRow, StoredJournalRow } from "../runtime/ports/store.ts";

type Stored = Omit<ActorRow, "state" | "context"> & { state: string; context: string };
type StoredEvent = {
  commit_seq: number;
  idx: number;
  actor_id: string;
  kind: string;
  seq: number;
  event: string;
  from_status: string | null;
  to_status: string;
  verdict: string;
};

const columns = "id, kind, version, seq, state, status, owner, peer, ordinal, context";

/** Reads actors at rest and their journal. A row that cannot be read is set aside, not thrown (case R04). */
export class ActorRows {
  readonly #db: DatabaseSync;
  readonly #byId: StatementSync;
  readonly #queries = new Map<string, StatementSync>();
  readonly setAside = new Map<string, string>();

  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#byId = db.prepare(`select ${columns} from actors where id = ?`);
  }

  get(id: ActorId): ActorRow | null {
    const row = this.#byId.get(id) as Stored | undefined;
    return row === undefined ? null : this.#parse(row);
  }

  by(query: ActorQuery): ActorRow[] {
    const { where, values } = conditions(query);
    const direction = query.newestFirst === true ? "desc" : "asc";
    const sql = `select ${columns} from actors where ${where} order by ordinal ${direction}, id ${direction} limit ?`;
    return (this.#prepare(sql).all(...values, query.limit ?? -1) as unknown as Stored[]).flatMap((row) => this.#parse(row) ?? []);
  }

  countBy(query: ActorQuery): number {
    const { where, values } = conditions(query);
    return (this.#prepare(`select count(*) as n from actors where ${where}`).get(...values) as { n: number }).n;
  }

  count(kind: ActorKind): Record<string, number> {
    const rows = this.#db.prepare("select status, count(*) as n from actors where kind = ? group by status").all(kind);
    return Object.fromEntries((rows as { status: string; n: number }[]).map((r) => [r.status, r.n]));
  }

  journal(query: { actorId?: ActorId; afterCommit?: number; limit: number }): StoredJournalRow[] {
    const rows =
      query.actorId === undefined
        ? this.#db
            .prepare("select * from journal where commit_seq > ? order by commit_seq, idx limit ?")
            .all(query.afterCommit ?? 0, query.limit)
        : this.#db
            .prepare("select * from journal where actor_id = ? and commit_seq > ? order by commit_seq, idx limit ?")
            .all(query.actorId, query.afterCommit ?? 0, query.limit);
    return (rows as unknown as StoredEvent[]).map((r) => ({
      commit: r.commit_seq,
      index: r.idx,
      actorId: r.actor_id as ActorId,
      kind: r.kind as ActorKind,
      seq: r.seq,
      event: JSON.parse(r.event) as StoredJournalRow["event"],
      from: r.from_status,
      to: r.to_status,
      verdict: r.verdict as StoredJournalRow["verdict"],
    }));
  }

  #prepare(sql: string): StatementSync {
    let statement = this.#queries.get(sql);
    if (statement === undefined) {
      statement = this.#db.prepare(sql);
      this.#queries.set(sql, statement);
    }
    return statement;
  }

  #parse(row: Stored): ActorRow | null {
    try {
      return { ...row, state: JSON.parse(row.state) as ActorRow["state"], context: JSON.parse(row.context) as unknown };
    } catch (error) {
      this.setAside.set(row.id, String(error));
      return null;
    }
  }
}

function conditions(query: ActorQuery): { where: string; values: (string | number)[] } {
  const where = ["kind = ?"];
  const values: (string | number)[] = [query.kind];
  const add = (sql: string, ...v: (string | number)[]) => {
    where.push(sql);
    values.push(...v);
  };
  if (query.owner !== undefined) add("owner = ?", query.owner);
  if (query.peer !== undefined) add("peer = ?", query.peer);
  if (query.statuses !== undefined) add(`status in (${query.statuses.map(() => "?").join(", ")})`, ...query.statuses);
  if (query.minOrdinal !== undefined) add("ordinal >= ?", query.minOrdinal);
  if (query.maxOrdinal !== undefined) add("ordinal <= ?", query.maxOrdinal);
  return { where: where.join(" and "), values };
}
