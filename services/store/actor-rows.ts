import type { ActorId, ActorKind, ThreadId } from "../../schemas/ids.ts";
import type { ActorQuery, ActorRow, StoredJournalRow } from "../runtime/ports/store.ts";
import type { SetAside } from "./set-aside.ts";
import type { Statements } from "./statements.ts";

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

/** Reads actors at rest and their journal. */
export class ActorRows {
  readonly #statements: Statements;
  readonly #setAside: SetAside;

  constructor(statements: Statements, setAside: SetAside) {
    this.#statements = statements;
    this.#setAside = setAside;
  }

  get(id: ActorId): ActorRow | null {
    const row = this.#statements.get<Stored>(`select ${columns} from actors where id = ?`, id);
    return row === undefined ? null : this.#parse(row);
  }

  by(query: ActorQuery): ActorRow[] {
    return this.#select<Stored>(columns, query).flatMap((row) => this.#parse(row) ?? []);
  }

  ids(query: ActorQuery): ActorId[] {
    return this.#select<{ id: ActorId }>("id", query).map(({ id }) => id);
  }

  #select<Row>(what: string, query: ActorQuery): Row[] {
    const { where, values } = conditions(query);
    const begin = this.#begin(query);
    const direction = query.newestFirst === true ? "desc" : "asc";
    const sql = `select ${what} from actors where ${where}${begin.where} order by ordinal ${direction}, id ${direction} limit ?`;
    return this.#statements.all<Row>(sql, ...values, ...begin.values, query.limit ?? -1);
  }

  /**
   * Where in the index a later page begins: without it, all that earlier pages told would be passed over again. Those without
   * an ordinal come last when the newest come first; then there is no such place.
   */
  #begin({ kind, after, newestFirst }: ActorQuery): { where: string; values: number[] } {
    const nowhere = { where: "", values: [] };
    if (after === undefined) return nowhere;
    const ordinal = this.#statements.get<{ ordinal: number | null }>("select ordinal from actors where id = ?", after)?.ordinal ?? null;
    if (ordinal === null) return nowhere;
    if (newestFirst !== true) return { where: " and ordinal >= ?", values: [ordinal] };
    const without = this.#statements.get("select 1 from actors where kind = ? and ordinal is null limit 1", kind);
    return without === undefined ? { where: " and ordinal <= ?", values: [ordinal] } : nowhere;
  }

  countBy(query: ActorQuery): number {
    const { where, values } = conditions(query);
    return this.#statements.get<{ n: number }>(`select count(*) as n from actors where ${where}`, ...values)?.n ?? 0;
  }

  count(kind: ActorKind): Record<string, number> {
    const rows = this.#statements.all<{ status: string; n: number }>(
      "select status, count(*) as n from actors where kind = ? group by status",
      kind,
    );
    return Object.fromEntries(rows.map((r) => [r.status, r.n]));
  }

  deletedAt(threadId: ThreadId): number | null {
    return (
      this.#statements.get<{ at: number }>(
        `select c.at from journal j join commits c on c.seq = j.commit_seq
         where j.actor_id = ? and j.to_status = 'deleted' and j.from_status is not 'deleted' and j.verdict = 'applied'
         order by j.commit_seq desc, j.idx desc limit 1`,
        threadId,
      )?.at ?? null
    );
  }

  journal(query: { actorId?: ActorId; afterCommit?: number; limit: number }): StoredJournalRow[] {
    const after = query.afterCommit ?? 0;
    const order = "order by commit_seq, idx limit ?";
    const rows =
      query.actorId === undefined
        ? this.#statements.all<StoredEvent>(`select * from journal where commit_seq > ? ${order}`, after, query.limit)
        : this.#statements.all<StoredEvent>(
            `select * from journal where actor_id = ? and commit_seq > ? ${order}`,
            query.actorId,
            after,
            query.limit,
          );
    return rows.flatMap((r) => this.#setAside.read(`journal ${r.commit_seq}/${r.idx}`, () => parseEvent(r)) ?? []);
  }

  #parse(row: Stored): ActorRow | null {
    return this.#setAside.read(row.id, () => ({
      ...row,
      state: JSON.parse(row.state) as ActorRow["state"],
      context: JSON.parse(row.context) as unknown,
    }));
  }
}

function parseEvent(r: StoredEvent): StoredJournalRow {
  return {
    commit: r.commit_seq,
    index: r.idx,
    actorId: r.actor_id as ActorId,
    kind: r.kind as ActorKind,
    seq: r.seq,
    event: JSON.parse(r.event) as StoredJournalRow["event"],
    from: r.from_status,
    to: r.to_status,
    verdict: r.verdict as StoredJournalRow["verdict"],
  };
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
  if (query.after !== undefined) {
    const behind = query.newestFirst === true ? "<" : ">";
    // Not every kind has an ordinal, and nothing compares with null.
    add(`(coalesce(ordinal, -1), id) ${behind} (select coalesce(ordinal, -1), id from actors where id = ?)`, query.after);
  }
  return { where: where.join(" and "), values };
}
