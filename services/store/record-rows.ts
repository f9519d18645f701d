import type { SQLInputValue } from "node:sqlite";
import type { Checkpoint } from "../../schemas/checkpoint.ts";
import type { ContextHandoff } from "../../schemas/handoff.ts";
import type { CommandId, EffectId, ThreadId } from "../../schemas/ids.ts";
import type { Project } from "../../schemas/project.ts";
import type { ProviderThread } from "../../schemas/provider.ts";
import type { EffectRow, ReceiptRow } from "../runtime/ports/store.ts";
import { parseOrFail, type SetAside } from "./set-aside.ts";
import type { Statements } from "./statements.ts";

type Body = { id: string; body: string };
type StoredEffect = { id: string; request: string; state: string; tries: number; note: string; commit_seq: number };

/** Reads the records that are not actors: one JSON body each, found by id or by what they belong to. */
export class RecordRows {
  readonly #statements: Statements;
  readonly #setAside: SetAside;

  constructor(statements: Statements, setAside: SetAside) {
    this.#statements = statements;
    this.#setAside = setAside;
  }

  checkpoint = (id: string) => this.#one<Checkpoint>("select id, body from checkpoints where id = ?", id);
  checkpointsOf = (threadId: string, { limit = -1, afterOrdinal = -1 }: { limit?: number; afterOrdinal?: number } = {}) =>
    this.#all<Checkpoint>(
      "select id, body from checkpoints where thread_id = ? and ordinal > ? order by ordinal limit ?",
      threadId,
      afterOrdinal,
      limit,
    );
  handoff = (id: string) => this.#one<ContextHandoff>("select id, body from handoffs where id = ?", id);
  handoffs = (ids: readonly string[]) =>
    this.#all<ContextHandoff>(
      "select handoffs.id, body from json_each(?) as wanted join handoffs on handoffs.id = wanted.value order by wanted.key",
      JSON.stringify(ids),
    );
  handoffsOf = (transferId: string) =>
    this.#all<ContextHandoff>("select id, body from handoffs where transfer_id = ? order by id", transferId);
  providerThread = (id: string) => this.#one<ProviderThread>("select id, body from provider_threads where id = ?", id);
  providerThreadsOf = (threadId: string) =>
    this.#all<ProviderThread>("select id, body from provider_threads where thread_id = ? order by id", threadId);
  project = (id: string) => this.#one<Project>("select id, body from projects where id = ?", id);
  projects = () => this.#all<Project>("select id, body from projects order by id");

  blob(digest: string): Uint8Array | null {
    return this.#statements.get<{ bytes: Uint8Array }>("select bytes from blobs where digest = ?", digest)?.bytes ?? null;
  }

  /** A receipt that cannot be read is an error: taken for none, its command would be carried out a second time. */
  receipt(id: CommandId): ReceiptRow | null {
    const row = this.#statements.get<{ digest: string; response: string }>(
      "select digest, response from receipts where command_id = ?",
      id,
    );
    return row === undefined
      ? null
      : { commandId: id, digest: row.digest, response: parseOrFail<unknown>(`the receipt of ${id}`, row.response) };
  }

  importDigest(threadId: ThreadId): string | null {
    return this.#statements.get<{ digest: string }>("select digest from imports where thread_id = ?", threadId)?.digest ?? null;
  }

  openEffects(): EffectRow[] {
    return this.#effects("select * from effects where state in ('pending', 'started') order by commit_seq, id");
  }

  effectsSetAside(): EffectRow[] {
    return this.#effects("select * from effects where state = 'set_aside' order by commit_seq, id");
  }

  #effects(sql: string): EffectRow[] {
    return this.#statements.all<StoredEffect>(sql).flatMap(
      (r) =>
        this.#setAside.read(r.id, () => ({
          id: r.id as EffectId,
          request: JSON.parse(r.request) as EffectRow["request"],
          state: r.state as EffectRow["state"],
          tries: r.tries,
          note: r.note,
          commit: r.commit_seq,
        })) ?? [],
    );
  }

  #one<T>(sql: string, value: SQLInputValue): T | null {
    const row = this.#statements.get<Body>(sql, value);
    return row === undefined ? null : this.#parse<T>(row);
  }

  #all<T>(sql: string, ...values: SQLInputValue[]): T[] {
    return this.#statements.all<Body>(sql, ...values).flatMap((row) => this.#parse<T>(row) ?? []);
  }

  #parse<T>(row: Body): T | null {
    return this.#setAside.read(row.id, () => JSON.parse(row.body) as T);
  }
}
