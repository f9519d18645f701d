import { z } from "zod";
import { EnvironmentId, HandoffId, ItemId, ProjectId, RunId, TaskId, ThreadId, TransferId } from "./ids.ts";
import { defaultModes, Modes } from "./modes.ts";
import { ProviderChoice, ProviderInstanceId } from "./provider.ts";
import { Refusal } from "./refusal.ts";
import { RunStatus } from "./run.ts";
import { TaskStatus } from "./task.ts";
import { Text, Timestamp, Title } from "./text.ts";
import { InheritedPoint, LinkOrigin, TaskRef, ThreadMark, ThreadStatus, Workspace } from "./thread.ts";
import { ThreadRelationshipKind, TransferStatus } from "./transfer.ts";

/**
 * What a client sees of one thread (contract §9), in the wire's shape: a member that has its usual value is left out, and
 * parsing puts it back (the types here are the wire's: `z.input`). What is large is given by its size, and is fetched by the id
 * of the item that it belongs to.
 */

/** A text as it stands; or, of a large one, its size in bytes of UTF-8 and perhaps its beginning. */
export const ViewText = z.union([Text, z.object({ bytes: z.number().int().nonnegative(), begins: Text.optional() })]);
export type ViewText = z.infer<typeof ViewText>;

const item = {
  id: ItemId,
  /** The process ended before it was complete. */
  truncated: z.boolean().default(false),
  /** More of it than a text was left out (a command of thousands of characters): the item itself has everything. */
  cut: z.boolean().default(false),
};
const ended = { endedAt: Timestamp.nullable().default(null), error: Refusal.nullable().default(null) };

/** The instance, and the model where one was asked for; null until something serves it. */
const servedBy = { provider: ProviderInstanceId.nullable().default(null), model: Text.nullable().default(null) };

/** A turn item (item.ts) as a person looks at it. Its run and its place are those of the turn that it stands in. */
export const ItemView = z.discriminatedUnion("kind", [
  z.object({ ...item, kind: z.literal("user_message"), content: ViewText }),
  z.object({ ...item, kind: z.literal("assistant_message"), content: ViewText }),
  z.object({ ...item, kind: z.literal("reasoning"), content: ViewText }),
  z.object({ ...item, kind: z.literal("command"), command: Text, exitCode: z.number().int().nullable().default(0), output: ViewText }),
  z.object({
    ...item,
    kind: z.literal("file_change"),
    changes: z.array(z.object({ path: Text, change: z.enum(["add", "update", "delete", "rename"]) })),
    diff: ViewText,
  }),
  z.object({ ...item, kind: z.literal("tool_call"), tool: Text, arguments: ViewText, result: ViewText, ok: z.boolean().default(true) }),
  z.object({
    ...item,
    kind: z.literal("approval"),
    requestId: Text,
    question: z.enum(["command", "file_change", "permission", "question"]),
    content: ViewText,
    options: z.array(Text),
  }),
  z.object({ ...item, kind: z.literal("approval_answer"), requestId: Text, answer: Text, by: z.enum(["user", "agent", "system"]) }),
  z.object({ ...item, kind: z.literal("plan"), content: ViewText }),
  z.object({
    ...item,
    kind: z.literal("subagent"),
    taskId: TaskId.nullable().default(null),
    childThreadId: ThreadId.nullable().default(null),
    content: ViewText,
  }),
  z.object({ ...item, kind: z.literal("handoff"), handoffId: HandoffId, transferId: TransferId, content: ViewText }),
  z.object({
    ...item,
    kind: z.literal("fork_marker"),
    sourceThreadId: ThreadId,
    sourceRunId: RunId.nullable().default(null),
    transferId: TransferId,
  }),
  z.object({ ...item, kind: z.literal("error"), content: ViewText }),
]);
export type ItemView = z.input<typeof ItemView>;

/** A run (run.ts) as a person looks at it. */
export const RunView = z.object({
  id: RunId,
  status: RunStatus,
  createdBy: z.enum(["user", "agent", "system"]).default("user"),
  createdAt: Timestamp,
  ...servedBy,
  openRequests: z.array(z.object({ requestId: Text, itemId: ItemId })).default([]),
  interruptReason: z.string().nullable().default(null),
  ...ended,
});
export type RunView = z.input<typeof RunView>;

/** One run with its items in order, or what stands in a thread before its first run (ordinal 0: an import, a fork's marker). */
export const TurnView = z.object({
  ordinal: z.number().int().nonnegative(),
  /** The thread that it is inherited from; null for the thread's own. */
  inheritedFrom: ThreadId.nullable().default(null),
  run: RunView.nullable().default(null),
  items: z.array(ItemView).default([]),
});
export type TurnView = z.input<typeof TurnView>;

/** What a thread is from its beginning (thread.ts). */
export const ThreadFacts = z.object({
  id: ThreadId,
  projectId: ProjectId,
  parentThreadId: ThreadId.nullable().default(null),
  parentEnvironmentId: EnvironmentId.nullable().default(null),
  relationshipToParent: z.enum(["fork", "subagent"]).nullable().default(null),
  /** Null: it is the root itself. */
  rootThreadId: ThreadId.nullable().default(null),
  inherited: InheritedPoint.nullable().default(null),
  historyOrigin: z.enum(["native", "v1_import"]).default("native"),
  workspace: Workspace.default({ strategy: "root" }),
  linkOrigin: LinkOrigin.nullable().default(null),
  task: TaskRef.nullable().default(null),
  createdBy: z.enum(["user", "agent", "system"]).default("user"),
  createdAt: Timestamp,
});
export type ThreadFacts = z.input<typeof ThreadFacts>;

/** How a thread stands. */
export const ThreadState = z.object({
  status: ThreadStatus,
  title: Title.default(""),
  modes: Modes.default(defaultModes),
  ...servedBy,
  /** What the next message is to be served by, where a switch has said so. */
  preferredProvider: ProviderChoice.nullable().default(null),
  activeRunId: RunId.nullable().default(null),
  /** Runs that wait for their turn, in order. */
  queue: z.array(RunId).default([]),
  /** Ordinal of the latest point of its own that it can be forked at; 0 is an import's history. */
  stableOrdinal: z.number().int().nonnegative().nullable().default(null),
  marks: z.partialRecord(ThreadMark, Timestamp).default({}),
});
export type ThreadState = z.input<typeof ThreadState>;

/** A transfer (transfer.ts) that the thread takes part in. */
export const TransferView = z.object({
  id: TransferId,
  type: ThreadRelationshipKind,
  status: TransferStatus,
  sourceThreadId: ThreadId,
  targetThreadId: ThreadId,
  handoffId: HandoffId.nullable().default(null),
  consumedByRunId: RunId.nullable().default(null),
  supersededBy: TransferId.nullable().default(null),
  taskId: TaskId.nullable().default(null),
  /** How a child's run ended; only on a `subagent_result`. */
  ending: z.enum(["completed", "failed", "cancelled", "interrupted"]).nullable().default(null),
  error: Refusal.nullable().default(null),
  createdAt: Timestamp,
});
export type TransferView = z.input<typeof TransferView>;

/** A task (task.ts) of the thread, or the one that the thread works on. */
export const TaskView = z.object({
  id: TaskId,
  title: Title,
  status: TaskStatus,
  parentThreadId: ThreadId,
  childThreadId: ThreadId.nullable().default(null),
  /** Where the child runs; null: here. */
  childEnvironmentId: EnvironmentId.nullable().default(null),
  lastResultTransferId: TransferId.nullable().default(null),
  reason: Text.nullable().default(null),
  createdAt: Timestamp,
  ...ended,
});
export type TaskView = z.input<typeof TaskView>;

/**
 * A thread at one commit: its newest turns, oldest first. The first one may be the end of a longer turn: then, and when there
 * are older turns, `olderThan` names the oldest item here, and is what an older page is asked for with.
 */
export const ThreadSnapshot = z.object({
  commit: z.number().int().nonnegative(),
  thread: ThreadFacts,
  state: ThreadState,
  turns: z.array(TurnView),
  /** By id, which is the order in which they were made; the newest of very many. */
  transfers: z.array(TransferView).default([]),
  tasks: z.array(TaskView).default([]),
  /** What the active run's agent is writing now, as far as it has come; null when nothing is under way. */
  unfinished: Text.nullable().default(null),
  olderThan: ItemId.nullable().default(null),
});
export type ThreadSnapshot = z.input<typeof ThreadSnapshot>;

/** Turns before those that a client has. */
export const OlderTurns = ThreadSnapshot.pick({ commit: true, turns: true, olderThan: true });
export type OlderTurns = z.input<typeof OlderTurns>;

/**
 * What commits up to `commit` have changed since the one that was told before. A record that is here takes the place of the
 * one with its id (a run: with its ordinal); items are new, and come behind those of their turn.
 */
export const ThreadPatch = z.object({
  commit: z.number().int().nonnegative(),
  state: ThreadState.optional(),
  turns: z.array(TurnView).default([]),
  transfers: z.array(TransferView).default([]),
  tasks: z.array(TaskView).default([]),
  /** The unfinished text, where it has changed: of what a client has the first `keep` UTF-16 units, then `text`; null: gone. */
  unfinished: z
    .object({ keep: z.number().int().nonnegative().default(0), text: Text })
    .nullable()
    .optional(),
});
export type ThreadPatch = z.input<typeof ThreadPatch>;
