import type { SQLInputValue } from "node:sqlite";
import type { ActorRow, CommitBatch } from "../runtime/ports/store.ts";
import type { Statements } from "./statements.ts";

/** An actor's whole state is kept at every so many events, so that any past commit can be shown without a long replay. */
const historyEvery = 50;

/** Writes a batch inside the transaction that its caller has begun. */
export class CommitWriter {
  readonly #statements: Statements;

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  write(seq: number, batch: CommitBatch): void {
    const run = (sql: string, ...values: SQLInputValue[]) => this.#statements.run(sql, ...values);
    const json = JSON.stringify;
    run("insert into commits values (?, ?)", seq, batch.at);
    batch.journal.forEach((j, i) => {
      run(
        "insert into journal values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        seq,
        i,
        j.actorId,
        j.kind,
        j.seq,
        json(j.event),
        j.from,
        j.to,
        j.verdict,
      );
    });
    this.#writeActors(seq, batch);
    for (const b of batch.blobs) run("insert into blobs values (?, ?) on conflict do nothing", b.digest, b.bytes);
    for (const i of batch.items)
      run(
        "insert into items (id, thread_id, run_id, run_ordinal, native_id, truncated, created_at, body, commit_seq) values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        i.id,
        i.threadId,
        i.runId,
        i.runOrdinal,
        i.nativeId,
        i.truncated ? 1 : 0,
        i.createdAt,
        json(i.body),
        seq,
      );
    for (const c of batch.checkpoints) run("insert into checkpoints values (?, ?, ?, ?)", c.id, c.threadId, c.ordinal, json(c));
    for (const h of batch.handoffs) run("insert into handoffs values (?, ?, ?)", h.id, h.transferId, json(h));
    for (const p of batch.providerThreads) run("insert or replace into provider_threads values (?, ?, ?)", p.id, p.threadId, json(p));
    for (const p of batch.projects) run("insert or replace into projects values (?, ?)", p.id, json(p));
    for (const e of batch.effects)
      run("insert into effects (id, commit_seq, request, state) values (?, ?, ?, 'pending')", e.id, seq, json(e.request));
    for (const e of batch.effectStates)
      run("update effects set state = ?, note = ?, tries = tries + (? = 'started') where id = ?", e.state, e.note, e.state, e.id);
    for (const r of batch.receipts) run("insert into receipts values (?, ?, ?, ?)", r.commandId, r.digest, json(r.response), seq);
    for (const i of batch.imports) run("insert into imports values (?, ?)", i.threadId, i.digest);
    for (const id of batch.clearedProgress) run("delete from progress where run_id = ?", id);
    this.#writeLinks(seq, batch);
  }

  /**
   * An actor that is there keeps its keys, and mostly its status: only what changed is written, since every index on a
   * column that is named is written again, changed or not.
   */
  #writeActors(seq: number, batch: CommitBatch): void {
    const run = (sql: string, ...values: SQLInputValue[]) => this.#statements.run(sql, ...values);
    const moved = new Map<string, "made" | "same" | "changed">();
    for (const { actorId, seq: place, from, to, verdict } of batch.journal) {
      if (verdict !== "applied") continue;
      const before = moved.get(actorId);
      if (place === 1) moved.set(actorId, "made");
      else if (before === undefined || before === "same") moved.set(actorId, from === to ? "same" : "changed");
    }
    for (const a of batch.actors) {
      const state = JSON.stringify(a.state);
      const context = JSON.stringify(a.context);
      const how = moved.get(a.id);
      const written =
        how === "same"
          ? run(
              "update actors set version = ?, seq = ?, state = ?, context = ?, commit_seq = ? where id = ?",
              a.version,
              a.seq,
              state,
              context,
              seq,
              a.id,
            )
          : how === "changed"
            ? run(
                "update actors set version = ?, seq = ?, state = ?, status = ?, context = ?, commit_seq = ? where id = ?",
                a.version,
                a.seq,
                state,
                a.status,
                context,
                seq,
                a.id,
              )
            : 0;
      if (written === 0) this.#putActor(seq, a, state, context);
      if (a.seq % historyEvery === 0)
        run("insert or replace into actor_history values (?, ?, ?, ?, ?, ?)", a.id, a.seq, seq, a.version, state, context);
    }
  }

  #putActor(seq: number, a: ActorRow, state: string, context: string): void {
    this.#statements.run(
      `insert into actors values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
       on conflict do update set version = excluded.version, seq = excluded.seq, state = excluded.state, status = excluded.status,
         owner = excluded.owner, peer = excluded.peer, ordinal = excluded.ordinal, context = excluded.context, commit_seq = excluded.commit_seq`,
      a.id,
      a.kind,
      a.version,
      a.seq,
      state,
      a.status,
      a.owner,
      a.peer,
      a.ordinal,
      context,
      seq,
    );
  }

  #writeLinks(seq: number, batch: CommitBatch): void {
    const run = (sql: string, ...values: SQLInputValue[]) => this.#statements.run(sql, ...values);
    for (const l of batch.links) run("insert or replace into links values (?, ?)", l.linkId, JSON.stringify(l));
    for (const o of batch.outbox)
      run("insert into outbox values (?, ?, ?, ?, ?, ?, ?, ?)", o.linkId, o.epoch, o.number, o.kind, o.requestId, o.body, o.digest, seq);
    for (const r of batch.receipted)
      run("delete from outbox where link_id = ? and (epoch, number) <= (?, ?)", r.linkId, r.position.epoch, r.position.number);
    for (const r of batch.incomingRequests)
      run("insert into incoming_requests values (?, ?, ?, ?)", r.environmentId, r.requestId, r.digest, JSON.stringify(r.answer));
    for (const r of batch.outgoingRequests)
      run(
        "insert or replace into outgoing_requests values (?, ?, ?, ?, ?)",
        r.requestId,
        r.environmentId,
        r.kind,
        r.subject,
        r.answer === null ? null : JSON.stringify(r.answer),
      );
    for (const k of batch.keptMessages)
      run("insert or ignore into kept_messages values (?, ?, ?, ?, ?)", k.linkId, k.epoch, k.number, k.raw, k.reason);
  }
}
