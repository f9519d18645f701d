import type { ActorKind } from "../../schemas/ids.ts";
import type { LinkContext } from "../../schemas/link.ts";
import type { MoveContext } from "../../schemas/move.ts";
import type { RunContext } from "../../schemas/run.ts";
import type { TaskContext } from "../../schemas/task.ts";
import type { ThreadContext } from "../../schemas/thread.ts";
import type { TransferContext } from "../../schemas/transfer.ts";

export interface ContextOf {
  thread: ThreadContext;
  run: RunContext;
  transfer: TransferContext;
  task: TaskContext;
  link: LinkContext;
  move: MoveContext;
}

export type ActorKeys = { owner: string | null; peer: string | null; ordinal: number | null };

/**
 * What an actor is found by, read off its context. `creation` is its place in the order of commits, for actors that are
 * told oldest first: two ids of one millisecond are in no order, and nobody's clock is asked.
 */
export const actorKeys: { [K in ActorKind]: (context: ContextOf[K], creation: number) => ActorKeys } = {
  /** By parent; by the task that it was spawned for. */
  thread: (c, creation) => ({ owner: c.lineage.parentThreadId, peer: c.task?.taskId ?? null, ordinal: creation }),
  run: (c) => ({ owner: c.threadId, peer: null, ordinal: c.ordinal }),
  /** By target; by source. */
  transfer: (c, creation) => ({ owner: c.targetThreadId, peer: c.sourceThreadId, ordinal: creation }),
  /** By parent; by the root of its tree, whose open children are counted. */
  task: (c, creation) => ({ owner: c.parentThreadId, peer: c.rootThreadId, ordinal: creation }),
  link: (c, creation) => ({ owner: null, peer: c.peerEnvironmentId, ordinal: creation }),
  /** By the thread that moves; by what it is called where it goes. */
  move: (c, creation) => ({ owner: c.threadId, peer: c.targetThreadId, ordinal: creation }),
};
