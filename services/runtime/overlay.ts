import type { Checkpoint } from "../../schemas/checkpoint.ts";
import type { EffectRequest, EffectState } from "../../schemas/effect.ts";
import type { ContextHandoff } from "../../schemas/handoff.ts";
import type {
  ActorId,
  CommandId,
  EffectId,
  EnvironmentId,
  ItemId,
  LinkId,
  ProjectId,
  ProviderThreadId,
  RequestId,
  RunId,
  ThreadId,
} from "../../schemas/ids.ts";
import type { NewItem } from "../../schemas/item.ts";
import type { LinkPosition } from "../../schemas/link.ts";
import type { Project } from "../../schemas/project.ts";
import type { ProviderThread } from "../../schemas/provider.ts";
import { emptyBatch } from "./empty-batch.ts";
import type { OutboxMessage } from "./ports/link-ledger.ts";
import type {
  ActorQuery,
  ActorRow,
  CommitBatch,
  IncomingRequestRow,
  JournalRow,
  KeptMessageRow,
  LinkRow,
  OutgoingRequestRow,
  ReceiptRow,
  Store,
} from "./ports/store.ts";
import type { ActorSource } from "./typed-actors.ts";

/**
 * What a batch of commands has decided and not yet written: every read sees it above the store. A refused command's part
 * is undone back to its mark, so nothing of it is ever written.
 */
export class Overlay {
  readonly store: Store;
  /** Committed actors: the hot ones, then the store. */
  readonly #committed: ActorSource;
  readonly #actors = new Map<ActorId, ActorRow>();
  /** The same actors as they were committed; null for those that this batch makes. */
  readonly #before = new Map<ActorId, ActorRow | null>();
  readonly #counts = new Map<string, number>();
  /** Actors of this batch by what they are found by: `kind|owner|…` and `kind|peer|…`. */
  readonly #index = new Map<string, Set<ActorId>>();
  readonly #keyed = new Map<string, unknown>();
  readonly #itemsOfRun = new Map<RunId, NewItem[]>();
  readonly #batch: CommitBatch;
  #creation: number;
  readonly #undo: (() => void)[] = [];

  constructor(store: Store, committed: ActorSource, at: number) {
    this.store = store;
    this.#committed = committed;
    this.#batch = emptyBatch(at);
    // Above everything that an earlier commit has given out, and of this batch's own: commit order.
    this.#creation = (store.lastCommit + 1) * 100_000;
  }

  /** A place to undo back to. */
  mark(): number {
    return this.#undo.length;
  }

  undoTo(mark: number): void {
    while (this.#undo.length > mark) this.#undo.pop()?.();
  }

  get isEmpty(): boolean {
    return this.#undo.length === 0;
  }

  /** What there is to write; each actor once, as it ended. */
  toBatch(): CommitBatch {
    return { ...this.#batch, actors: [...this.#actors.values()] };
  }

  nextCreation(): number {
    this.#creation += 1;
    this.#undo.push(() => {
      this.#creation -= 1;
    });
    return this.#creation;
  }

  // Actors

  actor(id: ActorId): ActorRow | null {
    return this.#actors.get(id) ?? this.#committed.actor(id);
  }

  putActor(row: ActorRow): void {
    const before = this.#actors.get(row.id);
    this.#actors.set(row.id, row);
    if (before === undefined) {
      this.#before.set(row.id, row.seq === 1 ? null : this.#committed.actor(row.id));
      for (const key of indexKeys(row)) this.#indexed(key).add(row.id);
    }
    this.#undo.push(() => {
      if (before !== undefined) {
        this.#actors.set(row.id, before);
        return;
      }
      this.#actors.delete(row.id);
      this.#before.delete(row.id);
      for (const key of indexKeys(row)) this.#indexed(key).delete(row.id);
    });
  }

  actorsBy(query: ActorQuery): ActorRow[] {
    const touched = this.#touched(query);
    if (touched.length === 0) return this.#committed.actorsBy(query);
    const { limit, ...all } = query;
    const rows = new Map(this.#committed.actorsBy(all).map((r) => [r.id, r]));
    for (const row of touched) {
      if (matches(row, query)) rows.set(row.id, row);
      else rows.delete(row.id);
    }
    const sign = query.newestFirst === true ? -1 : 1;
    const sorted = [...rows.values()].sort((a, b) => sign * ((a.ordinal ?? 0) - (b.ordinal ?? 0) || (a.id < b.id ? -1 : 1)));
    return limit === undefined ? sorted : sorted.slice(0, limit);
  }

  countBy(query: ActorQuery): number {
    const touched = this.#touched(query);
    const key = JSON.stringify(query);
    let count = this.#counts.get(key);
    if (count === undefined) {
      count = this.store.countBy(query);
      this.#counts.set(key, count);
    }
    for (const row of touched) {
      const before = this.#before.get(row.id) ?? null;
      if (before !== null && matches(before, query)) count -= 1;
      if (matches(row, query)) count += 1;
    }
    return count;
  }

  #touched(query: ActorQuery): ActorRow[] {
    const key =
      query.owner !== undefined
        ? `${query.kind}|owner|${query.owner}`
        : query.peer !== undefined
          ? `${query.kind}|peer|${query.peer}`
          : null;
    if (key === null) return [...this.#actors.values()].filter((r) => r.kind === query.kind);
    return [...(this.#index.get(key) ?? [])].flatMap((id) => this.#actors.get(id) ?? []);
  }

  #indexed(key: string): Set<ActorId> {
    let set = this.#index.get(key);
    if (set === undefined) {
      set = new Set();
      this.#index.set(key, set);
    }
    return set;
  }

  // Rows that are only ever added

  addJournal = (row: JournalRow) => this.#add(this.#batch.journal, row);
  /** A `once` effect is started by the commit that stores it: from then on nobody takes it for one that is still to come. */
  addEffect(effect: { id: EffectId; request: EffectRequest }): void {
    this.#add(this.#batch.effects, effect);
    if (effect.request.policy === "once") this.setEffectState(effect.id, "started", "");
  }
  /** Effects of this batch so far, in the order in which they are to be carried out. */
  get effects(): readonly { id: EffectId; request: EffectRequest }[] {
    return this.#batch.effects;
  }

  /** An effect whose answer is in this batch already. */
  dropEffect(id: EffectId): void {
    const { effects } = this.#batch;
    const at = effects.findLastIndex((effect) => effect.id === id);
    const [dropped] = effects.splice(at, 1);
    this.#undo.push(() => void (dropped !== undefined && effects.splice(at, 0, dropped)));
  }

  setEffectState = (id: EffectId, state: EffectState, note: string) => this.#add(this.#batch.effectStates, { id, state, note });
  addItem(item: NewItem): void {
    this.#add(this.#batch.items, item);
    this.#remember(`item ${item.id}`, item);
    if (item.runId === null) return;
    const ofRun = this.#itemsOfRun.get(item.runId) ?? [];
    this.#itemsOfRun.set(item.runId, ofRun);
    this.#add(ofRun, item);
  }
  addHandoff = (handoff: ContextHandoff) => this.#add(this.#batch.handoffs, handoff);
  addReceipted = (linkId: LinkId, position: LinkPosition) => this.#add(this.#batch.receipted, { linkId, position });
  addKeptMessage = (row: KeptMessageRow) => this.#add(this.#batch.keptMessages, row);
  clearProgress = (runId: RunId) => this.#add(this.#batch.clearedProgress, runId);
  addOutbox = (message: Omit<OutboxMessage, "commit"> & { linkId: LinkId }) => this.#add(this.#batch.outbox, message);

  /** Messages of a link that wait for a receipt, with those of this batch. */
  outboxCount(linkId: LinkId): number {
    return this.store.outboxCount(linkId) + this.#batch.outbox.filter((o) => o.linkId === linkId).length;
  }

  get outboxLinks(): Set<LinkId> {
    return new Set(this.#batch.outbox.map((o) => o.linkId));
  }

  #add<T>(list: T[], row: T): void {
    list.push(row);
    this.#undo.push(() => list.pop());
  }

  // Items: what this batch added comes after what is stored

  itemsOfRun(runId: RunId): readonly NewItem[] {
    return this.#itemsOfRun.get(runId) ?? [];
  }

  item = (id: ItemId) => this.#read<NewItem>(`item ${id}`, () => this.store.item(id));

  blob = (digest: string) => this.#read(`blob ${digest}`, () => this.store.blob(digest));
  addBlob(digest: string, bytes: Uint8Array): void {
    this.#add(this.#batch.blobs, { digest, bytes });
    this.#remember(`blob ${digest}`, bytes);
  }

  // Records by key

  receipt = (id: CommandId) => this.#read(`receipt ${id}`, () => this.store.receipt(id));
  putReceipt = (row: ReceiptRow) => this.#write(`receipt ${row.commandId}`, row, this.#batch.receipts);
  importDigest = (id: ThreadId) => this.#read(`import ${id}`, () => this.store.importDigest(id));
  putImport(threadId: ThreadId, digest: string): void {
    this.#add(this.#batch.imports, { threadId, digest });
    this.#remember(`import ${threadId}`, digest);
  }

  checkpoint: Store["checkpoint"] = (id) => this.#read(`checkpoint ${id}`, () => this.store.checkpoint(id));
  putCheckpoint = (row: Checkpoint) => this.#write(`checkpoint ${row.id}`, row, this.#batch.checkpoints);

  project = (id: ProjectId) => this.#read(`project ${id}`, () => this.store.project(id));
  projects = (): Project[] => [...this.store.projects().filter((p) => !this.#keyed.has(`project ${p.id}`)), ...this.#batch.projects];
  putProject = (row: Project) => this.#write(`project ${row.id}`, row, this.#batch.projects);

  providerThread = (id: ProviderThreadId) => this.#read(`pthread ${id}`, () => this.store.providerThread(id));
  providerThreadsOf(threadId: ThreadId): ProviderThread[] {
    const added = new Map(this.#batch.providerThreads.filter((p) => p.threadId === threadId).map((p) => [p.id, p]));
    const stored = this.store.providerThreadsOf(threadId).filter((p) => !added.has(p.id));
    return [...stored, ...added.values()];
  }
  putProviderThread = (row: ProviderThread) => this.#write(`pthread ${row.id}`, row, this.#batch.providerThreads);

  link = (id: LinkId) => this.#read(`link ${id}`, () => this.store.link(id));
  putLink = (row: LinkRow) => this.#write(`link ${row.linkId}`, row, this.#batch.links);

  incomingRequest = (environmentId: EnvironmentId, id: RequestId) =>
    this.#read(`in ${environmentId} ${id}`, () => this.store.incomingRequest(environmentId, id));
  putIncomingRequest = (row: IncomingRequestRow) =>
    this.#write(`in ${row.environmentId} ${row.requestId}`, row, this.#batch.incomingRequests);
  outgoingRequest = (id: RequestId) => this.#read(`out ${id}`, () => this.store.outgoingRequest(id));
  putOutgoingRequest = (row: OutgoingRequestRow) => this.#write(`out ${row.requestId}`, row, this.#batch.outgoingRequests);

  #read<T>(key: string, stored: () => T | null): T | null {
    return this.#keyed.has(key) ? (this.#keyed.get(key) as T) : stored();
  }

  #write<T>(key: string, row: T, list: T[]): void {
    this.#add(list, row);
    this.#remember(key, row);
  }

  #remember(key: string, value: unknown): void {
    const had = this.#keyed.has(key);
    const before = this.#keyed.get(key);
    this.#keyed.set(key, value);
    this.#undo.push(() => {
      if (had) this.#keyed.set(key, before);
      else this.#keyed.delete(key);
    });
  }
}

function indexKeys(row: ActorRow): string[] {
  const keys: string[] = [];
  if (row.owner !== null) keys.push(`${row.kind}|owner|${row.owner}`);
  if (row.peer !== null) keys.push(`${row.kind}|peer|${row.peer}`);
  return keys;
}

function matches(row: ActorRow, query: ActorQuery): boolean {
  return (
    row.kind === query.kind &&
    (query.owner === undefined || row.owner === query.owner) &&
    (query.peer === undefined || row.peer === query.peer) &&
    (query.statuses === undefined || query.statuses.includes(row.status)) &&
    (query.minOrdinal === undefined || (row.ordinal ?? 0) >= query.minOrdinal) &&
    (query.maxOrdinal === undefined || (row.ordinal ?? 0) <= query.maxOrdinal)
  );
}
