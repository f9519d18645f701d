import { z } from "zod";
import { HandoffId, ItemId, RunId, TaskId, ThreadId, TransferId } from "./ids.ts";
import { Digest, Text, Timestamp } from "./text.ts";

/** A text that is kept apart because of its size and fetched on demand. */
export const BlobRef = z.object({ digest: Digest, bytes: z.number().int().nonnegative(), preview: Text });
export type BlobRef = z.infer<typeof BlobRef>;
/** Text as it stands, or a reference to it. */
export const Content = z.union([z.object({ text: Text }), z.object({ blob: BlobRef })]);
export type Content = z.infer<typeof Content>;

export const ItemBody = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("user_message"), content: Content }),
  z.object({ kind: z.literal("assistant_message"), content: Content }),
  z.object({ kind: z.literal("reasoning"), content: Content }),
  z.object({ kind: z.literal("command"), command: Text, cwd: Text.nullable(), exitCode: z.number().int().nullable(), output: Content }),
  z.object({
    kind: z.literal("file_change"),
    changes: z.array(z.object({ path: Text, change: z.enum(["add", "update", "delete", "rename"]) })),
    diff: Content,
  }),
  z.object({ kind: z.literal("tool_call"), tool: Text, arguments: Content, result: Content, ok: z.boolean() }),
  z.object({
    kind: z.literal("approval"),
    requestId: Text,
    question: z.enum(["command", "file_change", "permission", "question"]),
    content: Content,
    options: z.array(Text),
  }),
  z.object({ kind: z.literal("approval_answer"), requestId: Text, answer: Text, by: z.enum(["user", "agent", "system"]) }),
  z.object({ kind: z.literal("plan"), content: Content }),
  /** A child of this thread: app-owned (with a task) or observed at the provider. */
  z.object({ kind: z.literal("subagent"), taskId: TaskId.nullable(), childThreadId: ThreadId.nullable(), content: Content }),
  /** What a run was told besides its message; the artefact itself is the handoff. */
  z.object({ kind: z.literal("handoff"), handoffId: HandoffId, transferId: TransferId, content: Content }),
  z.object({ kind: z.literal("fork_marker"), sourceThreadId: ThreadId, sourceRunId: RunId.nullable(), transferId: TransferId }),
  z.object({ kind: z.literal("error"), content: Content }),
]);
export type ItemBody = z.infer<typeof ItemBody>;
export type ItemKind = ItemBody["kind"];

/**
 * Something that a run produced or was given. Kept in order, never rewritten (purged content excepted).
 * Order within a thread is (`runOrdinal`, `position`), not time. Imported messages have ordinal 0 and no run.
 */
export const TurnItem = z.object({
  id: ItemId,
  threadId: ThreadId,
  runId: RunId.nullable(),
  runOrdinal: z.number().int().nonnegative(),
  /** Grows with every item of the environment. */
  position: z.number().int().positive(),
  /** The provider's own id, evidence only. */
  nativeId: z.string().nullable(),
  /** True when the process ended before the item was complete (decision 14). */
  truncated: z.boolean(),
  createdAt: Timestamp,
  body: ItemBody,
});
export type TurnItem = z.infer<typeof TurnItem>;

/** An item before the store has given it a position. */
export const NewItem = TurnItem.omit({ position: true });
export type NewItem = z.infer<typeof NewItem>;

/** An item as a thread shows it: its own, or one that it inherits from the thread it was forked from. */
export const VisibleItem = TurnItem.extend({ inherited: z.boolean() });
export type VisibleItem = z.infer<typeof VisibleItem>;
