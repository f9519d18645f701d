import { z } from "zod";
import { ObjectName } from "./checkpoint.ts";
import { AttemptId, EffectId, MoveId, ProjectId, RunId, ThreadId } from "./ids.ts";
import { Text } from "./text.ts";

/**
 * What is to happen outside, decided by a machine, stored in the same commit, run after it.
 * `repeatable` may simply run again after a crash; `once` has its start committed first and is settled after a crash.
 */
export const EffectRequest = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("run.prepare"), policy: z.literal("repeatable"), runId: RunId, attemptId: AttemptId }),
  /** Makes the worktree that a thread's first run works in. */
  z.object({ kind: z.literal("workspace.make"), policy: z.literal("repeatable"), runId: RunId, attemptId: AttemptId }),
  /** Gives a thread's worktree back what it held at a run. */
  z.object({ kind: z.literal("workspace.restore"), policy: z.literal("repeatable"), threadId: ThreadId }),
  /** Removes what a deleted thread had in its project's repository: its worktree, its private refs. */
  z.object({ kind: z.literal("workspace.remove"), policy: z.literal("repeatable"), threadId: ThreadId, discardWork: z.boolean() }),
  /** Removes a deleted thread's content for good. */
  z.object({ kind: z.literal("thread.purge"), policy: z.literal("repeatable"), threadId: ThreadId }),
  z.object({ kind: z.literal("provider.start"), policy: z.literal("once"), runId: RunId, attemptId: AttemptId }),
  z.object({ kind: z.literal("provider.interrupt"), policy: z.literal("repeatable"), runId: RunId, attemptId: AttemptId }),
  z.object({
    kind: z.literal("provider.answer"),
    policy: z.literal("once"),
    runId: RunId,
    attemptId: AttemptId,
    requestId: Text,
    answer: Text,
  }),
  /** Looks whether a thread that fell idle has results to be told (decision 30). */
  z.object({ kind: z.literal("thread.wake"), policy: z.literal("repeatable"), threadId: ThreadId }),
  /** Sends on what came for a thread that has moved. */
  z.object({ kind: z.literal("thread.forward"), policy: z.literal("repeatable"), threadId: ThreadId }),
  /** Ends what was prepared for a thread that was to come: `undo` where it does not come. */
  z.object({
    kind: z.literal("move.settle"),
    policy: z.literal("repeatable"),
    threadId: ThreadId,
    projectId: ProjectId,
    branch: Text.nullable(),
    head: ObjectName.nullable(),
    undo: z.boolean(),
  }),
  /** Looks whether a thread is quiet, so that its move can go on (decision 0117). */
  z.object({ kind: z.literal("move.proceed"), policy: z.literal("repeatable"), moveId: MoveId }),
]);
export type EffectRequest = z.infer<typeof EffectRequest>;
export type EffectKind = EffectRequest["kind"];

/** `settled`: a `once` effect whose outcome after a crash was decided; `set_aside`: it could not be applied and is kept for reading. */
export const EffectState = z.enum(["pending", "started", "done", "settled", "set_aside"]);
export type EffectState = z.infer<typeof EffectState>;

export const Effect = z.object({ id: EffectId, request: EffectRequest, state: EffectState, tries: z.number().int().nonnegative() });
export type Effect = z.infer<typeof Effect>;
