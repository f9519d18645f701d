import type { ThreadBundle } from "../../schemas/bundle.ts";
import type { Checkpoint } from "../../schemas/checkpoint.ts";
import type { Caller, PublicCommand, Receipt } from "../../schemas/command.ts";
import type { Change } from "../../schemas/feed.ts";
import type { ContextHandoff } from "../../schemas/handoff.ts";
import type {
  ActorId,
  ActorKind,
  CheckpointId,
  CommandId,
  EnvironmentId,
  HandoffId,
  ItemId,
  LinkId,
  MoveId,
  ProjectId,
  RequestId,
  RunId,
  TaskId,
  ThreadId,
  TransferId,
} from "../../schemas/ids.ts";
import type { TurnItem, VisibleItem } from "../../schemas/item.ts";
import type { Grant, Link, LinkPosition } from "../../schemas/link.ts";
import type { Move } from "../../schemas/move.ts";
import type { Need } from "../../schemas/need.ts";
import type { Project } from "../../schemas/project.ts";
import type { ProviderCapabilities, ProviderThread } from "../../schemas/provider.ts";
import type { PurgeReport } from "../../schemas/purge.ts";
import type { ResultOf } from "../../schemas/results.ts";
import type { RetentionView } from "../../schemas/retention.ts";
import type { Run } from "../../schemas/run.ts";
import type { Task } from "../../schemas/task.ts";
import type { AppThread } from "../../schemas/thread.ts";
import type { ContextTransfer, TransferStatus } from "../../schemas/transfer.ts";
import type { LinkAnswer } from "../../schemas/wire.ts";
import type { LinkDesk } from "./link-desk.ts";
import type { Backups } from "./ports/backups.ts";
import type { ChangedActor, ItemPosition, ItemSize, JournalPlace } from "./ports/store.ts";
import type { Workspaces } from "./ports/workspaces.ts";

/**
 * The library's face of one running environment. Reading is synchronous (the store is local); everything that changes
 * something goes through `dispatch`. Times are milliseconds; nothing here throws for what a caller did wrong: commands
 * answer with a refusal, reads with null.
 */
export interface Environment {
  readonly id: EnvironmentId;
  readonly name: string;
  /** Real path of the environment's folder. */
  readonly dir: string;
  /**
   * Sends one command and resolves after its commit. The same `id` again returns the stored receipt and does nothing.
   * `caller` defaults to the person at the keyboard. Anything malformed is answered with `invalid_request`.
   */
  dispatch(command: unknown, options?: DispatchOptions): Promise<Receipt>;
  /**
   * Like {@link dispatch} for JSON text, `{"id": …, "command": …}` (the id may be left out). A large one is read, checked
   * and digested off the main thread; one beyond `limits.importRequestBytes` is refused with `limit_exceeded`.
   */
  dispatchText(json: string | Uint8Array, options?: Pick<DispatchOptions, "caller">): Promise<Receipt>;
  /** Like {@link dispatch}, typed by the command; throws {@link CommandRefused} instead of returning a refusal. */
  send<C extends PublicCommand>(command: C, options?: DispatchOptions): Promise<ResultOf[C["type"]]>;

  readonly threads: Threads;
  readonly runs: Runs;
  readonly transfers: Transfers;
  readonly tasks: Tasks;
  readonly links: Links;
  readonly linkDesk: LinkDesk;
  readonly moves: Moves;
  readonly threadTools: ThreadToolsDoor;
  readonly projects: { list(): Project[]; get(id: ProjectId): Project | null };
  readonly providers: { list(): ProviderInstance[] };

  /** All that waits for a person, longest first; nothing that needs nobody. */
  needs(): Promise<Need[]>;
  /** Worktrees and private refs of this environment (decision 0108). */
  readonly workspaces: Pick<Workspaces, "inspect" | "difference" | "undoPreview">;

  readonly backups: Backups;
  /**
   * Finds a text wherever content is kept, and takes it out for good (decision 0110). Takes long. Both throw Refused: for a
   * text that is too short or too common, one that is part of names and ids, and while threads that hold it run.
   */
  readonly purges: { look(text: string): Promise<PurgeReport>; purge(text: string): Promise<PurgeReport> };

  /** This environment's link key, for a peer's configuration. */
  readonly publicKey: string;
  /**
   * Ids of a noun that begin with this text, the largest first, `limit` at most; of what belongs to a thread where one is
   * named. An index is read, however many there are.
   */
  idsFrom(noun: StoredNoun, beginning: string, limit: number, of?: ThreadId): string[];
  /** A durable actor as the ecosystem's hooks and inspectors take it (decision 37). Throws for an unknown id. */
  actor(id: ActorId): DurableActorRef;
  /** Committed changes after a commit, in order; `limit` at most. */
  changes(afterCommit: number, limit: number): Change[];
  /** Calls back with the changes of every commit from now on. Returns how to stop. */
  subscribe(listener: (commit: number, changes: Change[]) => void): () => void;
  readonly lastCommit: number;
  readonly sync: SyncReads;
  /** What a person should know about this environment's health: set-aside records and effects, link trouble. */
  health(): Health;
  /** Ends it: detaches providers, stops links, closes the store. */
  close(): Promise<void>;
}

/** What is found by the beginning of its id. */
type StoredNoun = ActorKind | "handoff" | "checkpoint" | "project";

export type DispatchOptions = { id?: CommandId; caller?: Caller };

type ItemsPage = { limit?: number; newestFirst?: boolean; ownOnly?: boolean; after?: ItemPlace };
/** Where an item stands: in the history of the thread that it belongs to. */
export type ItemPlace = Pick<TurnItem, "threadId" | "runOrdinal" | "position">;

export interface Threads {
  /** Newest first. Deleted threads only on demand. `after` goes on behind the last thread of an earlier page. */
  list(filter?: { parent?: ThreadId; includeDeleted?: boolean; limit?: number; after?: ThreadId }): AppThread[];
  get(id: ThreadId): AppThread | null;
  /**
   * What a person sees: inherited items first, marked, then its own. `newestFirst` with `limit` for the end of it; `after`
   * goes on behind an item of an earlier page, in the same direction.
   */
  items(id: ThreadId, page?: ItemsPage): VisibleItem[];
  item(id: ItemId): TurnItem | null;
  /** Whole text of an item's large content. */
  blob(digest: string): Uint8Array | null;
  /** By ordinal; `after` goes on behind a run of an earlier page, in the same direction. */
  runs(id: ThreadId, page?: { limit?: number; newestFirst?: boolean; after?: RunId; ordinal?: number }): Run[];
  providerThreads(id: ThreadId): ProviderThread[];
  checkpoint(id: CheckpointId): Checkpoint | null;
  /** By ordinal, of which `afterOrdinal` is the last of an earlier page. */
  checkpoints(id: ThreadId, page?: { limit?: number; afterOrdinal?: number }): Checkpoint[];
  /** All of it, for another environment (decision 0111); null for one that is not there. */
  bundle(id: ThreadId): ThreadBundle | null;
  transfers(id: ThreadId): ContextTransfer[];
  tasks(id: ThreadId): Task[];
}

/** A stretch of a thread's history, see runtime/history.ts. */
export type HistoryPart = { threadId: ThreadId; fromOrdinal: number; toOrdinal: number; inherited: boolean };

/** Reads for views that are kept up to date: bounded ones, of which a caller makes as many as it has time for. */
export interface SyncReads {
  /** Calls back at every commit, with nothing read. Returns how to stop. */
  onCommit(listener: (commit: number) => void): () => void;
  /** Actors that were changed behind a place of the journal, one entry per event, in order. */
  changedAfter(place: JournalPlace, limit: number): ChangedActor[];
  /** Whose items a thread shows: the oldest part first, its own last; empty for an unknown thread. */
  history(id: ThreadId): HistoryPart[];
  /** Runs of a thread with ordinals from `from` to `to`. */
  runs(id: ThreadId, from: number, to: number): Run[];
  /** Sizes of the newest items of a part, newest first, without loading them. */
  itemSizes(part: Omit<HistoryPart, "inherited">, limit: number, before?: ItemPosition): ItemSize[];
  itemsBetween(id: ThreadId, from: ItemPosition, to: ItemPosition): TurnItem[];
  /** A thread's own items of commits after `commit`. */
  itemsAfter(id: ThreadId, commit: number, limit: number): TurnItem[];
  /** Threads that are not deleted, newest first, with their place in the order of making. */
  threads(page: { limit: number; olderThan?: ThreadId }): { number: number; thread: AppThread }[];
  threadNumber(id: ThreadId): number;
}

export interface Runs {
  get(id: RunId): Run | null;
  /** Unfinished text of a running run. */
  progress(id: RunId): string | null;
  /** Resolves with the run once it has ended or waits for an answer, or as it is after `timeoutMs`. Never cancels. */
  wait(id: RunId, options?: { timeoutMs?: number; until?: "ended" | "ended_or_waiting" }): Promise<Run | null>;
}

export type TransferStep = { commit: number; at: number; event: string; from: TransferStatus | null; to: TransferStatus };

export interface Transfers {
  /** Oldest first unless `newestFirst`; `after` goes on behind the last one of an earlier page. */
  list(filter?: { target?: ThreadId; source?: ThreadId; limit?: number; newestFirst?: boolean; after?: TransferId }): ContextTransfer[];
  get(id: TransferId): ContextTransfer | null;
  /** Every status that it had, from its journal. */
  history(id: TransferId): TransferStep[];
  handoff(id: HandoffId): ContextHandoff | null;
  handoffsOf(id: TransferId): ContextHandoff[];
}

export interface Tasks {
  /** Newest first unless `newestFirst` is false; `after` goes on behind the last one of an earlier page. */
  list(filter?: { parent?: ThreadId; open?: boolean; limit?: number; newestFirst?: boolean; after?: TaskId }): Task[];
  get(id: TaskId): Task | null;
  /** Resolves with the task once it has ended, or as it is after `timeoutMs`. Never cancels (case S06). */
  wait(id: TaskId, options?: { timeoutMs?: number }): Promise<Task | null>;
}

export interface Moves {
  /** Threads that moved from here, or are on their way; newest first. */
  list(filter?: { thread?: ThreadId; open?: boolean; limit?: number; after?: MoveId }): Move[];
  get(id: MoveId): Move | null;
  /** Resolves with the move once it is decided, or as it is after `timeoutMs`. Never cancels. */
  wait(id: MoveId, options?: { timeoutMs?: number }): Promise<Move | null>;
}

export type LinkView = Link & {
  /** What the peer may do here, as configured. */
  grants: readonly Grant[];
  /** The same on both sides, for people to compare; null for a link that the configuration does not name (any more). */
  fingerprint: string | null;
  /** Our direction and the peer's, and what the peer has confirmed. */
  sent: LinkPosition;
  receipted: LinkPosition;
  received: LinkPosition | null;
  /** Messages that the peer's store does not have yet. */
  backlog: number;
  keptMessages: { epoch: number; number: number; reason: string }[];
  openRequests: { requestId: RequestId; kind: string; subject: string }[];
  /** Counted since this process started; null while links are not running. */
  statistics: Record<string, unknown> | null;
};

export interface Links {
  list(): LinkView[];
  get(id: LinkId): LinkView | null;
  /** The answer to a request of ours, as soon as it is there, or null after `timeoutMs`. The request goes on. */
  answer(id: RequestId, options?: { timeoutMs?: number }): Promise<LinkAnswer | null>;
}

/** How the agents of this environment's threads reach its tools (MCP), for whoever serves them. */
interface ThreadToolsDoor {
  /** The thread whose agent has this token, or null; compared in constant time. */
  callerOf(token: string): Extract<Caller, { kind: "thread" }> | null;
  /** Where the tools are served from now on, as an address that agents on this machine can reach; null: nowhere. */
  servedAt(url: string | null): void;
  /** Calls back after a token was taken back, which is when its session is let go. The returned function ends it. */
  onRevoked(listener: () => void): () => void;
}

export type ProviderInstance = { instance: string; kind: string; capabilities: ProviderCapabilities };

export type Health = {
  environmentId: EnvironmentId;
  dir: string;
  incarnation: string;
  /** True when this store was found to be a copy at its start. */
  isNewIncarnation: boolean;
  commits: number;
  counts: Record<ActorKind, Record<string, number>>;
  setAside: { id: string; reason: string }[];
  effectsSetAside: { id: string; kind: string; note: string }[];
  retention: RetentionView;
};

/** Has the shape of XState's ActorRef: a snapshot to read, changes to follow, and `send`, which is a dispatch. */
export interface DurableActorRef {
  readonly id: ActorId;
  getSnapshot(): DurableSnapshot;
  subscribe(observer: ((snapshot: DurableSnapshot) => void) | { next?: (snapshot: DurableSnapshot) => void }): { unsubscribe(): void };
  /** Dispatches a public command that names this actor. */
  send(command: PublicCommand): void;
}

export type DurableSnapshot = {
  status: "active" | "done";
  value: unknown;
  context: unknown;
  /** Whether the actor is in this state (a top-level status or a path of keys joined by dots). */
  matches(state: string): boolean;
};

/** A refusal as an exception, for programs that prefer one. */
export class CommandRefused extends Error {
  override readonly name = "CommandRefused";
  readonly refusal: Extract<Receipt, { ok: false }>["refusal"];
  constructor(refusal: Extract<Receipt, { ok: false }>["refusal"]) {
    super(`${refusal.message} ${refusal.hint}`);
    this.refusal = refusal;
  }
}
