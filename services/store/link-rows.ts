import type { EnvironmentId, LinkId, RequestId } from "../../schemas/ids.ts";
import type { LinkPosition } from "../../schemas/link.ts";
import type { LinkAnswer } from "../../schemas/wire.ts";
import type { OutboxMessage } from "../runtime/ports/link-ledger.ts";
import type { IncomingRequestRow, KeptMessageRow, LinkRow, OutgoingRequestRow } from "../runtime/ports/store.ts";
import { parseOrFail } from "./set-aside.ts";
import type { Statements } from "./statements.ts";

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

/**
 * Reads what links need: positions, the outbox, requests of both directions, messages that were set aside. A row of these
 * that cannot be read is an error: taken for one that is not there, it would be numbered, decided or told a second time.
 */
export class LinkRows {
  readonly #statements: Statements;

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  link(id: LinkId): LinkRow | null {
    const row = this.#statements.get<{ body: string }>("select body from links where link_id = ?", id);
    return row === undefined ? null : parseOrFail<LinkRow>(`the positions of ${id}`, row.body);
  }

  outbox(linkId: LinkId, after: LinkPosition, limit: number, bytes?: number): OutboxMessage[] {
    const within = bytes === undefined ? limit : this.#within(linkId, after, limit, bytes);
    return this.#statements
      .all<StoredOutbox>(
        "select * from outbox where link_id = ? and (epoch, number) > (?, ?) order by epoch, number limit ?",
        linkId,
        after.epoch,
        after.number,
        within,
      )
      .map((r) => ({
        epoch: r.epoch,
        number: r.number,
        kind: r.kind as OutboxMessage["kind"],
        requestId: r.request_id as RequestId | null,
        body: r.body,
        digest: r.digest,
        commit: r.commit_seq,
      }));
  }

  /** How many messages reach `bytes` together. Sizes are read without the bodies: a week of large ones is not for the memory. */
  #within(linkId: LinkId, after: LinkPosition, limit: number, bytes: number): number {
    const sizes = this.#statements.all<{ bytes: number }>(
      "select octet_length(body) as bytes from outbox where link_id = ? and (epoch, number) > (?, ?) order by epoch, number limit ?",
      linkId,
      after.epoch,
      after.number,
      limit,
    );
    let left = bytes;
    const over = sizes.findIndex((row) => {
      left -= row.bytes;
      return left <= 0;
    });
    return over === -1 ? sizes.length : over + 1;
  }

  outboxCount(linkId: LinkId): number {
    return this.#statements.get<{ n: number }>("select count(*) as n from outbox where link_id = ?", linkId)?.n ?? 0;
  }

  incoming(environmentId: EnvironmentId, requestId: RequestId): IncomingRequestRow | null {
    const row = this.#statements.get<{ digest: string; answer: string }>(
      "select digest, answer from incoming_requests where environment_id = ? and request_id = ?",
      environmentId,
      requestId,
    );
    if (row === undefined) return null;
    return { environmentId, requestId, digest: row.digest, answer: parseOrFail<LinkAnswer>(`the answer to ${requestId}`, row.answer) };
  }

  outgoing(requestId: RequestId): OutgoingRequestRow | null {
    const row = this.#statements.get<StoredOutgoing>("select * from outgoing_requests where request_id = ?", requestId);
    return row === undefined ? null : parseOutgoing(row);
  }

  open(environmentId?: EnvironmentId): OutgoingRequestRow[] {
    const rows =
      environmentId === undefined
        ? this.#statements.all<StoredOutgoing>("select * from outgoing_requests where answer is null order by request_id")
        : this.#statements.all<StoredOutgoing>(
            "select * from outgoing_requests where environment_id = ? and answer is null order by request_id",
            environmentId,
          );
    return rows.map(parseOutgoing);
  }

  kept(linkId: LinkId): KeptMessageRow[] {
    return this.#statements
      .all<Omit<KeptMessageRow, "linkId">>(
        "select epoch, number, raw, reason from kept_messages where link_id = ? order by epoch, number",
        linkId,
      )
      .map((r) => ({ linkId, ...r }));
  }
}

function parseOutgoing(row: StoredOutgoing): OutgoingRequestRow {
  return {
    requestId: row.request_id as RequestId,
    environmentId: row.environment_id as EnvironmentId,
    kind: row.kind,
    subject: row.subject,
    answer: row.answer === null ? null : parseOrFail<LinkAnswer>(`the answer to ${row.request_id}`, row.answer),
  };
}
