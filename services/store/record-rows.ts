import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import type { Checkpoint } from "../../schemas/checkpoint.ts";
import type { ContextHandoff } from "../../schemas/handoff.ts";
import type { CommandId, EffectId, ThreadId } from "../../schemas/ids.ts";
import type { Project } from "../../schemas/project.ts";
import type { ProviderThread } from "../../schemas/provider.ts";
import type { EffectRow, ReceiptRow } from "../runtime/ports/store.ts";

type Body = { body: string };
type StoredEffect = { id: string; request: string; state: string; tries: number; note: string; commit_seq: number };

/** Reads the records that are not actors: one JSON body each, found by id or by what they belong to. */
export class RecordRows {
  readonly #db: DatabaseSync;
  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  checkpoint = (id: string) => this.#one<Checkpoint>("select body from checkpoints where id = ?", id);
  checkpointsOf = (threadId: string) =>
    this.#all<Checkpoint>("select body from checkpoints where thread_id = ? order by ordinal", threadId);
  handoff = (id: string) => this.#one<ContextHandoff>("select body from handoffs where id = ?", id);
  handoffsOf = (transferId: string) => this.#all<ContextHandoff>("select body from handoffs where transfer_id = ? order by id", transferId);
  providerThread = (id: string) => this.#one<ProviderThread>("select body from provider_threads where id = ?", id);
  providerThreadsOf = (threadId: string) =>
    this.#all<ProviderThread>("select body from provider_threads where thread_id = ? order by id", threadId);
  project = (id: string) => this.#one<Project>("select body from projects where id = ?", id);
  projects = () => this.#all<Project>("select body from projects order by id");

  blob(digest: string): Uint8Array | null {
    return (this.#db.prepare("select bytes from blobs where digest = ?").get(digest) as { bytes: Uint8Array } | undefined)?.bytes ?? null;
  }

  receipt(id: CommandId): ReceiptRow | null {
    const row = this.#db.prepare("select digest, response from receipts where command_id = ?").get(id) as
      | { digest: string; response: string }
      | undefined;
    return row === undefined ? null : { commandId: id, digest: row.digest, response: JSON.parse(row.response) as unknown };
  }

  importDigest(threadId: ThreadId): string | null {
    return (
      (this.#db.prepare("select digest from imports where thread_id = ?").get(threadId) as { digest: string } | undefined)?.digest ?? null
    );
  }

  effects(states: readonly string[]): EffectRow[] {
    const sql = `select * from effects where state in (${states.map((s) => `'${s}'`).join(", ")}) order by commit_seq, id`;
    return (this.#db.prepare(sql).all() as unknown as StoredEffect[]).map((r) => ({
      id: r.id as EffectId,
      request: JSON.parse(r.request) as EffectRow["request"],
      state: r.state as EffectRow["state"],
      tries: r.tries,
      note: r.note,
      commit: r.commit_seq,
    }));
  }

  #one<T>(sql: string, value: SQLInputValue): T | null {
    const row = this.#db.prepare(sql).get(value) as Body | undefined;
    return row === undefined ? null : (JSON.parse(row.body) as T);
  }

  #all<T>(sql: string, ...values: SQLInputValue[]): T[] {
    return (this.#db.prepare(sql).all(...values) as Body[]).map((r) => JSON.parse(r.body) as T);
  }
}
