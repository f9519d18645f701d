import { z } from "zod";
import { CheckpointId, RunId, ThreadId } from "./ids.ts";
import { Text, Timestamp } from "./text.ts";

/** What git calls an object by. */
export const ObjectName = z.string().regex(/^[0-9a-f]{40,64}$/);

/** A file that a snapshot does not hold, and why. */
export const LeftOutFile = z.object({ path: Text, reason: z.enum(["too_large", "unreadable", "nested_repository"]) });
export type LeftOutFile = z.infer<typeof LeftOutFile>;

export const ChangedFile = z.object({
  path: Text,
  change: z.enum(["add", "update", "delete", "rename"]),
  /** What it was called before, where it was renamed. */
  from: Text.optional(),
});
export type ChangedFile = z.infer<typeof ChangedFile>;

/** What a folder held, kept as a commit under a private ref: all that git does not ignore, committed or not. */
export const WorkspaceSnapshot = z.object({
  ref: Text,
  commit: ObjectName,
  /** What was checked out; null on a branch without a commit. */
  head: ObjectName.nullable(),
  leftOut: z.array(LeftOutFile),
});
export type WorkspaceSnapshot = z.infer<typeof WorkspaceSnapshot>;

/** A stable point: a completed run with the workspace state that belongs to it. An import makes one of ordinal 0. */
export const Checkpoint = z.object({
  id: CheckpointId,
  threadId: ThreadId,
  runId: RunId.nullable(),
  ordinal: z.number().int().nonnegative(),
  /** Private ref of the workspace snapshot; null where there is no workspace to keep. */
  workspaceRef: z.string().nullable(),
  /** The snapshot itself; absent in checkpoints of versions before there were any. */
  workspace: WorkspaceSnapshot.nullable().optional(),
  /** Why there is no snapshot, where there should have been one. */
  workspaceNote: Text.optional(),
  createdAt: Timestamp,
});
export type Checkpoint = z.infer<typeof Checkpoint>;
