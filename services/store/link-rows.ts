import type { DatabaseSync } from "node:sqlite";
import type { EnvironmentId, LinkId, RequestId } from "../../schemas/ids.ts";
import type { LinkPosition } from "../../schemas/link.ts";
import type { LinkAnswer } from "../../schemas/wire.ts";
import type { OutboxMessage } from "../runtime/ports/link-ledger.ts";
import type { IncomingRequestRow, KeptMessageRow, LinkRow, OutgoingRequestRow } from "../runtime/ports/store.ts";

type StoredOutbox = {
  epoch: number;
  number: number;
  kind: string;
  request_id: string | null;
  body: string;
  digest: string;
  commit_seq: number;
};
type StoredOutgoing = { request_id: string; environment_id: string; kind: string; subject: string; answer: string | null };

/** Reads what links need: positions, the outbox, requests of both directions, messages that were set aside. */
export class LinkRows {
  readonly #db: DatabaseSync;
  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  link(id: LinkId): LinkRow | null {
    const row = this.#db.prepare("select body from links where link_id = ?").get(id) as { body: string } | undefined;
    return row === undefined ? null : (JSON.parse(row.body) as LinkRow);
  }

  outbox(linkId: LinkId, after: LinkPosition, limit: number): OutboxMessage[] {
    const rows = this.#db
      .prepare("select * from outbox where link_id = ? and (epoch, number) > (?, ?) order by epoch, number limit ?")
      .all(linkId, after.epoch, after.number, limit);
    return (rows as unknown as StoredOutbox[]).map((r) => ({
      epoch: r.epoch,
      number: r.number,
      kind: r.kind as OutboxMessage["kind"],
      requestId: r.request_id as RequestId | null,
      body: r.body,
      digest: r.digest,
      commit: r.commit_seq,
    }));
  }

  outboxCount(linkId: LinkId): number {
    return (this.#db.prepare("select count(*) as n from outbox where link_id = ?").get(linkId) as { n: number }).n;
  }

  incoming(environmentId: EnvironmentId, requestId: RequestId): IncomingRequestRow | null {
    const row = this.#db
      .prepare("select digest, answer from incoming_requests where environment_id = ? and request_id = ?")
      .get(environmentId, requestId) as { digest: string; answer: string } | undefined;
    return row === undefined ? null : { environmentId, requestId, digest: row.digest, answer: JSON.parse(row.answer) as LinkAnswer };
  }

  outgoing(requestId: RequestId): OutgoingRequestRow | null {
    const row = this.#db.prepare("select * from outgoing_requests where request_id = ?").get(requestId) as StoredOutgoing | undefined;
    return row === undefined ? null : parseOutgoing(row);
  }

  open(environmentId?: EnvironmentId): OutgoingRequestRow[] {
    const rows =
      environmentId === undefined
        ? this.#db.prepare("select * from outgoing_requests where answer is null order by request_id").all()
        : this.#db
            .prepare("select * from outgoing_requests where environment_id = ? and answer is null order by request_id")
            .all(environmentId);
    return (rows as unknown as StoredOutgoing[]).map(parseOutgoing);
  }

  kept(linkId: LinkId): KeptMessageRow[] {
    const rows = this.#db
      .prepare("select epoch, number, raw, reason from kept_messages where link_id = ? order by epoch, number")
      .all(linkId);
    return (rows as { epoch: number; number: number; raw: string; reason: string }[]).map((r) => ({ linkId, ...r }));
  }
}

function parseOutgoing(row: StoredOutgoing): OutgoingRequestRow {
  return {
    requestId: row.request_id as RequestId,
    environmentId: row.environment_id as EnvironmentId,
    kind: row.kind,
    subject: row.subject,
    answer: row.answer === null ? null : (JSON.parse(row.answer) as LinkAnswer),
  };
}
