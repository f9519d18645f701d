import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { ActorId, ActorKind, IncarnationId, LinkId, RunId } from "../../schemas/ids.ts";
import { type ActorQuery, type CommitBatch, type ItemPage, type ItemRange, isLocalTrouble, type Store } from "../runtime/ports/store.ts";
import { systemIdentifiers } from "../runtime/system-identifiers.ts";
import { ActorRows } from "./actor-rows.ts";
import { ChangeRows } from "./change-rows.ts";
import { CommitWriter } from "./commit-writer.ts";
import { ContentRows } from "./content-rows.ts";
import { copyDatabase } from "./copy.ts";
import { storeFailure } from "./failure.ts";
import { type FileSystemType, prepareFolder } from "./folder.ts";
import { idsFrom } from "./id-rows.ts";
import { StoreIdentity } from "./identity.ts";
import { inspectStore } from "./inspection.ts";
import { ItemRows } from "./item-rows.ts";
import { LinkRows } from "./link-rows.ts";
import { FolderLock } from "./lock.ts";
import { migrate } from "./migrations.ts";
import { RecordRows } from "./record-rows.ts";
import { SetAside } from "./set-aside.ts";
import { Statements } from "./statements.ts";

export type StoreOptions = { fileSystemType?: FileSystemType };

/**
 * Opens the store in a folder, alone: takes the lock, migrates, settles the incarnation. Throws StoreFailure:
 * `store_locked`, `store_newer`, `network_file_system`, `store_damaged`, `store_unwritable`, `disk_full`, `io_error`.
 */
export function openStore(dir: string, options: StoreOptions = {}): SqliteStore {
  const folder = prepareFolder(dir, options.fileSystemType);
  const lock = new FolderLock(folder);
  const path = join(folder, "ropewalk.db");
  let db: DatabaseSync | null = null;
  try {
    inspectStore(folder, path);
    db = new DatabaseSync(path);
    // An acknowledged command survives a power cut: every commit is synced. The two fullfsync settings matter on macOS
    // alone, where a plain fsync does not reach the disk. The time-out is short, since everybody waits for it: nobody
    // should be writing here but this process.
    db.exec(
      "pragma busy_timeout = 250; pragma journal_mode = wal; pragma synchronous = full; pragma fullfsync = on; pragma checkpoint_fullfsync = on; pragma foreign_keys = on; pragma cache_size = -32000",
    );
    migrate(db);
    return new SqliteStore(db, path, { folder, lock });
  } catch (error) {
    db?.close();
    lock.release();
    throw storeFailure(error, path);
  }
}

/** The memory twin, for tests and simulation: the same code on a database that is gone when it is closed. */
export function openMemoryStore(): SqliteStore {
  const db = new DatabaseSync(":memory:");
  migrate(db);
  return new SqliteStore(db, ":memory:", null);
}

export class SqliteStore implements Store {
  readonly incarnation: IncarnationId;
  /** Real path of the folder; empty for a store in memory. */
  readonly folder: string;
  /** What this store was when it was found, at this opening, to be a copy; null otherwise. */
  readonly previousIncarnation: IncarnationId | null;
  readonly content: ContentRows;
  readonly #db: DatabaseSync;
  readonly #lock: FolderLock | null;
  readonly #identity: StoreIdentity | null;
  readonly #statements: Statements;
  readonly #setAside = new SetAside();
  readonly #writer: CommitWriter;
  readonly #actors: ActorRows;
  readonly #items: ItemRows;
  readonly #changes: ChangeRows;
  readonly #records: RecordRows;
  readonly #links: LinkRows;
  #lastCommit: number;

  constructor(db: DatabaseSync, path: string, home: { folder: string; lock: FolderLock } | null) {
    this.#db = db;
    this.folder = home?.folder ?? "";
    this.#lock = home?.lock ?? null;
    this.#statements = new Statements(db, path);
    this.#lastCommit = this.#statements.get<{ seq: number }>("select coalesce(max(seq), 0) as seq from commits")?.seq ?? 0;
    this.#identity = home === null ? null : new StoreIdentity(this.#statements, home.folder, path, this.#lastCommit);
    this.incarnation = this.#identity?.incarnation ?? systemIdentifiers.next("inc");
    this.previousIncarnation = this.#identity?.previous ?? null;
    this.content = new ContentRows(this.#statements);
    this.#writer = new CommitWriter(this.#statements);
    this.#actors = new ActorRows(this.#statements, this.#setAside);
    this.#items = new ItemRows(this.#statements, this.#setAside);
    this.#changes = new ChangeRows(this.#statements);
    this.#records = new RecordRows(this.#statements, this.#setAside);
    this.#links = new LinkRows(this.#statements);
  }

  get lastCommit(): number {
    return this.#lastCommit;
  }

  commit(batch: CommitBatch): number {
    const seq = this.#lastCommit + 1;
    this.#statements.transaction(() => this.#writer.write(seq, batch));
    this.#lastCommit = seq;
    this.#identity?.noteCommit(seq);
    return seq;
  }

  actor = (id: ActorId) => this.#actors.get(id);
  actorsBy = (query: ActorQuery) => this.#actors.by(query);
  actorIds = (query: ActorQuery) => this.#actors.ids(query);
  idsFrom: Store["idsFrom"] = (...query) => idsFrom(this.#statements, ...query);
  countBy = (query: ActorQuery) => this.#actors.countBy(query);
  countActors = (kind: ActorKind) => this.#actors.count(kind);
  setAside = () => this.#setAside.list();
  deletedAt: Store["deletedAt"] = (threadId) => this.#actors.deletedAt(threadId);
  journal = (query: { actorId?: ActorId; afterCommit?: number; limit: number }) => this.#actors.journal(query);

  items = (range: ItemRange, page?: ItemPage) => this.#items.range(range, page);
  item: Store["item"] = (id) => this.#items.get(id);
  itemsAfterCommit = (commit: number, limit: number) => this.#items.afterCommit(commit, limit);
  itemSizes: Store["itemSizes"] = (...query) => this.#items.sizes(...query);
  itemsBetween: Store["itemsBetween"] = (...query) => this.#items.between(...query);
  itemsOfThreadAfter: Store["itemsOfThreadAfter"] = (...query) => this.#items.ofThreadAfter(...query);
  changedAfter: Store["changedAfter"] = (place, limit) => this.#changes.after(place, limit);
  blob = (digest: string) => this.#records.blob(digest);
  progress = (runId: RunId) => this.#items.progress(runId);

  checkpoint: Store["checkpoint"] = (id) => this.#records.checkpoint(id);
  checkpointsOf: Store["checkpointsOf"] = (id, page) => this.#records.checkpointsOf(id, page);
  handoff: Store["handoff"] = (id) => this.#records.handoff(id);
  handoffs: Store["handoffs"] = (ids) => this.#records.handoffs(ids);
  handoffsOf: Store["handoffsOf"] = (id) => this.#records.handoffsOf(id);
  providerThread: Store["providerThread"] = (id) => this.#records.providerThread(id);
  providerThreadsOf: Store["providerThreadsOf"] = (id) => this.#records.providerThreadsOf(id);
  project: Store["project"] = (id) => this.#records.project(id);
  projects: Store["projects"] = () => this.#records.projects();
  receipt: Store["receipt"] = (id) => this.#records.receipt(id);
  importDigest: Store["importDigest"] = (id) => this.#records.importDigest(id);
  openEffects = () => this.#records.openEffects();
  effectsSetAside = () => this.#records.effectsSetAside();

  link: Store["link"] = (id) => this.#links.link(id);
  outbox: Store["outbox"] = (...query) => this.#links.outbox(...query);
  outboxCount = (linkId: LinkId) => this.#links.outboxCount(linkId);
  incomingRequest: Store["incomingRequest"] = (env, id) => this.#links.incoming(env, id);
  outgoingRequest: Store["outgoingRequest"] = (id) => this.#links.outgoing(id);
  openRequests: Store["openRequests"] = (env) => this.#links.open(env);
  keptMessages: Store["keptMessages"] = (id) => this.#links.kept(id);

  /** A copy of all of it as of one commit; to be waited for before it is closed. */
  copyTo = (path: string, onProgress: (share: number) => void) => copyDatabase(this.#db, path, onProgress);

  saveProgress(runId: RunId, text: string): void {
    try {
      this.#items.saveProgress(runId, text);
      this.#identity?.noteCommit(this.#lastCommit);
    } catch (error) {
      // The next progress, or the item itself, replaces what could not be kept of a text in the making.
      if (!isLocalTrouble(error)) throw error;
    }
  }

  close(): void {
    try {
      this.#db.close();
      this.#identity?.close(this.#lastCommit);
    } finally {
      this.#lock?.release();
    }
  }
}
