import type { ActorId, ActorKind } from "../../schemas/ids.ts";
import type { ChangedActor, JournalPlace } from "../runtime/ports/store.ts";
import type { Statements } from "./statements.ts";

type Stored = {
  commit_seq: number;
  idx: number;
  actor_id: string;
  kind: string;
  owner: string | null;
  peer: string | null;
  ordinal: number | null;
};

/** Which actors the journal says were changed, and what they are found by; their events, which may be large, are not read. */
export class ChangeRows {
  readonly #statements: Statements;

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  after(place: JournalPlace, limit: number): ChangedActor[] {
    return this.#statements
      .all<Stored>(
        `select j.commit_seq, j.idx, j.actor_id, j.kind, a.owner, a.peer, a.ordinal
         from journal j join actors a on a.id = j.actor_id
         where (j.commit_seq, j.idx) > (?, ?) and j.verdict = 'applied' order by j.commit_seq, j.idx limit ?`,
        place.commit,
        place.index,
        limit,
      )
      .map((row) => ({
        commit: row.commit_seq,
        index: row.idx,
        id: row.actor_id as ActorId,
        kind: row.kind as ActorKind,
        owner: row.owner,
        peer: row.peer,
        ordinal: row.ordinal,
      }));
  }
}
