import type { StateValue } from "xstate";
import type { Checkpoint } from "../../../schemas/checkpoint.ts";
import type { EffectRequest, EffectState } from "../../../schemas/effect.ts";
import type { ContextHandoff } from "../../../schemas/handoff.ts";
import type {
  ActorId,
  ActorKind,
  CheckpointId,
  CommandId,
  EffectId,
  EnvironmentId,
  HandoffId,
  IncarnationId,
  ItemId,
  LinkId,
  ProjectId,
  ProviderThreadId,
  RequestId,
  RunId,
  ThreadId,
  TransferId,
} from "../../../schemas/ids.ts";
import type { NewItem, TurnItem } from "../../../schemas/item.ts";
import type { LinkPosition, LinkPositions } from "../../../schemas/link.ts";
import type { Project } from "../../../schemas/project.ts";
import type { ProviderThread } from "../../../schemas/provider.ts";
import type { LinkAnswer } from "../../../schemas/wire.ts";
import type { OutboxMessage } from "./link-ledger.ts";

/** An actor at rest. `owner`, `peer` and `ordinal` are what it is found by (see runtime/actor-keys.ts). */
export type ActorRow = {
  id: ActorId;
  kind: ActorKind;
  version: string;
  /** How many events it has had. */
  seq: number;
  state: StateValue;
  status: string;
  context: unknown;
  owner: string | null;
  peer: string | null;
  ordinal: number | null;
};

export type JournalRow = {
  actorId: ActorId;
  kind: ActorKind;
  /** Its place among the actor's events; 0 for late news that was recorded as ignored. */
  seq: number;
  event: { type: string } & Record<string, unknown>;
  from: string | null;
  to: string;
  verdict: "applied" | "ignored";
};

export type StoredJournalRow = JournalRow & { commit: number; index: number };

export type ReceiptRow = { commandId: CommandId; digest: string; response: unknown };

export type EffectRow = { id: EffectId; request: EffectRequest; state: EffectState; tries: number; note: string; commit: number };

/** Positions of one link; both directions. */
export type LinkRow = {
  linkId: LinkId;
  /** The incarnation of this store that the present epoch of our direction belongs to. */
  incarnation: IncarnationId;
  sent: LinkPosition;
  receipted: LinkPosition;
  received: LinkPosition | null;
  /** Where this store stood when it was found to be a copy, until the peer knows of its new incarnation; null otherwise. */
  previous: LinkPositions["previous"];
  peerIncarnation: IncarnationId | null;
  /** Peer incarnations that were replaced: messages of theirs are refused. */
  formerIncarnations: IncarnationId[];
};

/** A request of a peer and what was answered: kept for ever, independent of link and epoch (links.md, invariant 6). */
export type IncomingRequestRow = { environmentId: EnvironmentId; requestId: RequestId; digest: string; answer: LinkAnswer };

/** A request of ours to a peer; `answer` is null while it is open. */
export type OutgoingRequestRow = {
  requestId: RequestId;
  environmentId: EnvironmentId;
  kind: string;
  /** The actor or thread that waits for the answer. */
  subject: string;
  answer: LinkAnswer | null;
};

/** An authentic message that could not be used: kept for reading, never applied later. */
export type KeptMessageRow = { linkId: LinkId; epoch: number; number: number; raw: string; reason: string };

/** Everything that one commit writes, as plain data. */
export type CommitBatch = {
  at: number;
  journal: JournalRow[];
  actors: ActorRow[];
  items: NewItem[];
  blobs: { digest: string; bytes: Uint8Array }[];
  checkpoints: Checkpoint[];
  handoffs: ContextHandoff[];
  providerThreads: ProviderThread[];
  projects: Project[];
  effects: { id: EffectId; request: EffectRequest }[];
  effectStates: { id: EffectId; state: EffectState; note: string }[];
  receipts: ReceiptRow[];
  imports: { threadId: ThreadId; digest: string }[];
  links: LinkRow[];
  outbox: (Omit<OutboxMessage, "commit"> & { linkId: LinkId })[];
  /** Outgoing messages that the peer's store has: forgotten. */
  receipted: { linkId: LinkId; position: LinkPosition }[];
  incomingRequests: IncomingRequestRow[];
  outgoingRequests: OutgoingRequestRow[];
  keptMessages: KeptMessageRow[];
  /** Partial text of runs that ended or whose item is complete. */
  clearedProgress: RunId[];
};

export type ItemRange = { threadId: ThreadId; fromOrdinal: number; toOrdinal: number };

/** A part of a range: after the given item in the direction of reading, `limit` at most. */
export type ItemPage = { after?: { runOrdinal: number; position: number }; limit?: number; newestFirst?: boolean };

/** Where an item stands in its thread. */
export type ItemPosition = { runOrdinal: number; position: number };
/** An item that is not loaded yet: bytes of its record, which holds what is not kept apart. */
export type ItemSize = ItemPosition & { bytes: number };

/** A place in the journal: before the first event of commit 1 is `{commit: 0, index: 0}`. */
export type JournalPlace = { commit: number; index: number };
/** An actor that an event of the journal has changed, with what it is found by now. */
export type ChangedActor = JournalPlace & { id: ActorId } & Pick<ActorRow, "kind" | "owner" | "peer" | "ordinal">;

/**
 * The environment's truth. Synchronous: one file, one writer. Real driver: `services/store/`; its memory twin is the same
 * code on a database that lives in memory.
 */
export interface Store {
  readonly incarnation: IncarnationId;
  /** Sequence of the newest commit; 0 for an empty store. */
  readonly lastCommit: number;
  /** Writes all of it or nothing, durably; returns the commit's sequence. Throws {@link StoreFailure}. */
  commit(batch: CommitBatch): number;

  actor(id: ActorId): ActorRow | null;
  actorsBy(query: ActorQuery): ActorRow[];
  /** The same, ids alone. */
  actorIds(query: ActorQuery): ActorId[];
  /** Ids that begin with this text, the largest first; of what is owned by a thread where one is named. */
  idsFrom(noun: ActorKind | "handoff" | "checkpoint" | "project", beginning: string, limit: number, of?: ThreadId): string[];
  /** How many match; `limit` and order are not read. */
  countBy(query: ActorQuery): number;
  countActors(kind: ActorKind): Record<string, number>;
  /** Records that could not be read so far; set aside, the others go on (case R04). */
  setAside(): { id: string; reason: string }[];
  /** When a thread was deleted (or came as one, with an import), in milliseconds since 1970; null: it was not, or nothing says when. */
  deletedAt(threadId: ThreadId): number | null;
  journal(query: { actorId?: ActorId; afterCommit?: number; limit: number }): StoredJournalRow[];

  items(range: ItemRange, page?: ItemPage): TurnItem[];
  item(id: ItemId): TurnItem | null;
  /** Newest first; `before`: only what is older. */
  itemSizes(range: ItemRange, limit: number, before?: ItemPosition): ItemSize[];
  /** Both ends included, oldest first. */
  itemsBetween(threadId: ThreadId, from: ItemPosition, to: ItemPosition): TurnItem[];
  /** Of one thread, in its order. */
  itemsOfThreadAfter(threadId: ThreadId, commit: number, limit: number): TurnItem[];
  /** One entry for each event that has changed something, in order. */
  changedAfter(place: JournalPlace, limit: number): ChangedActor[];
  itemsAfterCommit(commit: number, limit: number): { commit: number; item: TurnItem }[];
  blob(digest: string): Uint8Array | null;
  /** Partial text of a running run's unfinished item; not a commit of its own, not synced, left out while the disk is full. */
  saveProgress(runId: RunId, text: string): void;
  progress(runId: RunId): string | null;

  checkpoint(id: CheckpointId): Checkpoint | null;
  /** By ordinal; only those above `afterOrdinal`, `limit` at most. */
  checkpointsOf(threadId: ThreadId, page?: { limit?: number; afterOrdinal?: number }): Checkpoint[];
  handoff(id: HandoffId): ContextHandoff | null;
  /** Those of these that are there, in this order. */
  handoffs(ids: readonly HandoffId[]): ContextHandoff[];
  handoffsOf(transferId: TransferId): ContextHandoff[];
  providerThread(id: ProviderThreadId): ProviderThread | null;
  providerThreadsOf(threadId: ThreadId): ProviderThread[];
  project(id: ProjectId): Project | null;
  projects(): Project[];

  receipt(id: CommandId): ReceiptRow | null;
  importDigest(threadId: ThreadId): string | null;
  openEffects(): EffectRow[];
  effectsSetAside(): EffectRow[];

  link(id: LinkId): LinkRow | null;
  /** At most `limit` messages, and no further one once their bodies together have reached `bytes`. */
  outbox(linkId: LinkId, after: LinkPosition, limit: number, bytes?: number): OutboxMessage[];
  outboxCount(linkId: LinkId): number;
  incomingRequest(environmentId: EnvironmentId, requestId: RequestId): IncomingRequestRow | null;
  outgoingRequest(requestId: RequestId): OutgoingRequestRow | null;
  openRequests(environmentId?: EnvironmentId): OutgoingRequestRow[];
  keptMessages(linkId: LinkId): KeptMessageRow[];

  close(): void;
}

export type ActorQuery = {
  kind: ActorKind;
  owner?: string;
  peer?: string;
  statuses?: readonly string[];
  minOrdinal?: number;
  maxOrdinal?: number;
  newestFirst?: boolean;
  limit?: number;
  /** Only what comes behind this one, in the same order. */
  after?: ActorId;
};

/** Why the store could not be opened, read or written; `reason` is the slug of decision 20. */
export class StoreFailure extends Error {
  override readonly name = "StoreFailure";
  readonly reason:
    | "store_locked"
    | "store_newer"
    | "disk_full"
    | "store_damaged"
    | "network_file_system"
    | "store_unwritable"
    | "io_error"
    | "sync_failed";
  readonly hint: string;
  constructor(reason: StoreFailure["reason"], message: string, hint: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.reason = reason;
    this.hint = hint;
  }
}

const passing: readonly StoreFailure["reason"][] = ["disk_full", "store_locked", "store_unwritable", "io_error"];

/** Trouble of this machine that may pass: the same write can succeed later, and nothing of it was written. */
export function isLocalTrouble(error: unknown): error is StoreFailure {
  return error instanceof StoreFailure && passing.includes(error.reason);
}
