import { z } from "zod";
import {
  CheckpointId,
  EnvironmentId,
  ExternalId,
  ImportHandoffId,
  LinkId,
  MoveId,
  ProjectId,
  ProviderThreadId,
  RunId,
  TaskId,
  ThreadId,
} from "./ids.ts";
import { Modes } from "./modes.ts";
import { ProviderChoice } from "./provider.ts";
import { Text, Timestamp, Title } from "./text.ts";

/** Only browsing lineage lives on the thread; all operational detail is in transfers (contract §3). */
export const AppThreadLineage = z.object({
  parentThreadId: ThreadId.nullable(),
  /** Set when the parent lives in another environment. */
  parentEnvironmentId: EnvironmentId.nullable(),
  relationshipToParent: z.enum(["fork", "subagent"]).nullable(),
  rootThreadId: ThreadId,
});
export type AppThreadLineage = z.infer<typeof AppThreadLineage>;

/** What a link started carries this for life, and hands it on to forks and subagents (contract §8). */
export const LinkOrigin = z.object({ environmentId: EnvironmentId, linkId: LinkId });
export type LinkOrigin = z.infer<typeof LinkOrigin>;

/** What somebody can ask for. `existing` names a worktree of the project that no other thread has. */
export const WorkspaceWish = z.union([
  z.object({ strategy: z.literal("root") }),
  z.object({ strategy: z.literal("existing"), path: Text }),
  z.object({ strategy: z.literal("worktree") }),
]);
export type WorkspaceWish = z.infer<typeof WorkspaceWish>;

/** Where a thread's agent works (decisions 38 and 0108): the project's folder, a worktree that was there, or one of its own. */
export const Workspace = z.union([
  z.object({ strategy: z.literal("root") }),
  z.object({ strategy: z.literal("existing"), path: Text }),
  /** `path` is null until the thread's first run has made it. Where the project is in no repository, that run works in `root`. */
  z.object({ strategy: z.literal("worktree"), path: Text.nullable() }),
]);
export type Workspace = z.infer<typeof Workspace>;

/** The task a thread was spawned for, and the environment that owns it (null: this one). */
export const TaskRef = z.object({ taskId: TaskId, environmentId: EnvironmentId.nullable() });
export type TaskRef = z.infer<typeof TaskRef>;

export const StablePoint = z.object({ runId: RunId.nullable(), ordinal: z.number().int().nonnegative(), checkpointId: CheckpointId });
export type StablePoint = z.infer<typeof StablePoint>;

/** The last run of another thread whose history this thread shows by reference; the point a fork was made at. */
export const InheritedPoint = z.object({
  threadId: ThreadId,
  runId: RunId.nullable(),
  ordinal: z.number().int().nonnegative(),
  /** When its history was taken over: what was taken back there later is part of it still. Absent: when the thread was made. */
  asOf: Timestamp.optional(),
});
export type InheritedPoint = z.infer<typeof InheritedPoint>;

/** The key that an imported thread was made under (contract §6, Import). */
export const ImportSource = z.object({ environmentId: ExternalId, threadId: ExternalId, handoffId: ImportHandoffId });
export type ImportSource = z.infer<typeof ImportSource>;

/** Runs that were taken back, until something new runs: what taking that back again needs (contract §7). */
export const Undone = z.object({
  runIds: z.array(RunId),
  /** The last run that was kept; 0: none was. */
  toOrdinal: z.number().int().nonnegative(),
  stableBefore: StablePoint.nullable(),
  /** Native conversations that know what was taken back, with what they were bounded by before. */
  cut: z.array(z.object({ providerThreadId: ProviderThreadId, before: z.number().int().nonnegative().nullable() })),
  /** Names what the worktree held; null where the thread's folder was left as it is. */
  keptAs: Text.nullable(),
});
export type Undone = z.infer<typeof Undone>;

/** What a thread's worktree is to hold again: `base` or the uuid of a run, or what an undo kept; `keepAs` names what it holds now. */
export const Restoring = z.object({ from: Text, keepAs: Text });
export type Restoring = z.infer<typeof Restoring>;

/** Where a thread lives that has moved away. */
export const Departed = z.object({ environmentId: EnvironmentId, threadId: ThreadId, moveId: MoveId });
export type Departed = z.infer<typeof Departed>;

/** Where a thread has come from by a move. */
export const MovedFrom = z.object({ environmentId: EnvironmentId, threadId: ThreadId, moveId: MoveId });
export type MovedFrom = z.infer<typeof MovedFrom>;
/**
 * A thread's content is to go for good. `keptUpTo`: its runs up to this one stay, since forks show them; null: nothing does.
 * `doneAt` is null until all of it is gone.
 */
const Purge = z.object({ askedAt: Timestamp, keptUpTo: z.number().int().nonnegative().nullable(), doneAt: Timestamp.nullable() });

/** The thread that this one stands in for may live there as well: nobody has said that it does not. */
export const MayAlsoLive = z.object({ environmentId: EnvironmentId, moveId: MoveId });
export type MayAlsoLive = z.infer<typeof MayAlsoLive>;

export const ThreadMark = z.enum(["archived", "pinned", "snoozed", "read"]);
export type ThreadMark = z.infer<typeof ThreadMark>;

/** The canonical conversation; context of the thread machine. */
export const ThreadContext = z.object({
  id: ThreadId,
  projectId: ProjectId,
  title: Title,
  lineage: AppThreadLineage,
  inherited: InheritedPoint.nullable(),
  historyOrigin: z.enum(["native", "v1_import"]),
  /** Absent on threads that were not imported, and on those that were before this was kept. */
  importedFrom: ImportSource.optional(),
  modes: Modes,
  /** What the thread was last served by; null until a run's input was accepted. */
  provider: ProviderChoice.nullable(),
  /** What messages after `afterOrdinal` are to be served by, said by a switch; null: what served it last. */
  preferred: z.object({ provider: ProviderChoice, afterOrdinal: z.number().int().nonnegative() }).nullable(),
  workspace: Workspace,
  linkOrigin: LinkOrigin.nullable(),
  task: TaskRef.nullable(),
  /** Levels of app-owned subagents above it. */
  depth: z.number().int().nonnegative(),
  lastOrdinal: z.number().int().nonnegative(),
  activeRunId: RunId.nullable(),
  queue: z.array(RunId),
  latestStable: StablePoint.nullable(),
  undone: Undone.nullable().optional(),
  /** Set until its worktree holds what it should. */
  restoring: Restoring.nullable().optional(),
  /** Set while a move that the peer agrees to waits for the thread, and while it departs. */
  moving: MoveId.nullable().optional(),
  departed: Departed.optional(),
  movedFrom: MovedFrom.optional(),
  mayAlsoLive: MayAlsoLive.optional(),
  /** True once an agent of this thread has spawned a task: results then wake it when it is idle (decision 30). */
  wakesOnResult: z.boolean(),
  /** Set on a thread that was deleted while it ran, until that run has ended: whether its worktree goes with work in it. */
  discardWork: z.boolean().optional(),
  purge: Purge.optional(),
  /** How often a text was purged in it. */
  purgedTexts: z.number().int().positive().optional(),
  /** When each mark was set; absent is unmarked. */
  marks: z.partialRecord(ThreadMark, Timestamp),
  createdBy: z.enum(["user", "agent", "system"]),
  createdAt: Timestamp,
});
export type ThreadContext = z.infer<typeof ThreadContext>;

export const ThreadInput = ThreadContext.omit({
  provider: true,
  activeRunId: true,
  queue: true,
  lastOrdinal: true,
  wakesOnResult: true,
  marks: true,
  moving: true,
  departed: true,
  createdAt: true,
});
export type ThreadInput = z.infer<typeof ThreadInput>;

export const ThreadStatus = z.enum(["idle", "running", "departing", "departed", "deleted"]);
export type ThreadStatus = z.infer<typeof ThreadStatus>;
export const AppThread = ThreadContext.extend({ status: ThreadStatus });
export type AppThread = z.infer<typeof AppThread>;
