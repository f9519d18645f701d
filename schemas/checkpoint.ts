import { z } from "zod";
import { CheckpointId, RunId, ThreadId } from "./ids.ts";
import { Timestamp } from "./text.ts";

/** A stable point: a completed run with the workspace state that belongs to it. An import makes one of ordinal 0. */
export const Checkpoint = z.object({
  id: CheckpointId,
  threadId: ThreadId,
  runId: RunId.nullable(),
  ordinal: z.number().int().nonnegative(),
  /** Private ref of the workspace snapshot; null where there is no workspace to keep. */
  workspaceRef: z.string().nullable(),
  createdAt: Timestamp,
});
export type Checkpoint = z.infer<typeof Checkpoint>;
