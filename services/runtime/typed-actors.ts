import type { ActorId, LinkId, MoveId, RunId, TaskId, ThreadId, TransferId } from "../../schemas/ids.ts";
import type { Link } from "../../schemas/link.ts";
import type { Move } from "../../schemas/move.ts";
import type { Run } from "../../schemas/run.ts";
import type { Task } from "../../schemas/task.ts";
import type { AppThread } from "../../schemas/thread.ts";
import type { ContextTransfer } from "../../schemas/transfer.ts";
import type { ActorQuery, ActorRow } from "./ports/store.ts";

/** Whatever actors can be read from: the store, or what a batch has decided above it. */
export interface ActorSource {
  actor(id: ActorId): ActorRow | null;
  actorsBy(query: ActorQuery): ActorRow[];
}

const typed = <T>(row: ActorRow | null): T | null => (row === null ? null : ({ ...(row.context as object), status: row.status } as T));
export const asThread = (row: ActorRow): AppThread => typed<AppThread>(row) as AppThread;
export const asRun = (row: ActorRow): Run => typed<Run>(row) as Run;
export const asTransfer = (row: ActorRow): ContextTransfer => typed<ContextTransfer>(row) as ContextTransfer;
export const asTask = (row: ActorRow): Task => typed<Task>(row) as Task;
export const asLink = (row: ActorRow): Link => typed<Link>(row) as Link;
export const asMove = (row: ActorRow): Move => typed<Move>(row) as Move;

export const threadFrom = (source: ActorSource, id: ThreadId): AppThread | null => typed(source.actor(id));
export const runFrom = (source: ActorSource, id: RunId): Run | null => typed(source.actor(id));
export const transferFrom = (source: ActorSource, id: TransferId): ContextTransfer | null => typed(source.actor(id));
export const taskFrom = (source: ActorSource, id: TaskId): Task | null => typed(source.actor(id));
export const linkFrom = (source: ActorSource, id: LinkId): Link | null => typed(source.actor(id));
export const moveFrom = (source: ActorSource, id: MoveId): Move | null => typed(source.actor(id));

const openTransferStatuses = ["pending", "resolved_native", "resolved_portable"] as const;
export const openTaskStatuses = ["requested", "starting", "running", "cancelling"] as const;

/** Transfers to a thread that are neither consumed nor replaced, in the order in which they were committed. */
export function openTransfersTo(source: ActorSource, threadId: ThreadId, alsoFailed = false): ContextTransfer[] {
  const statuses = alsoFailed ? [...openTransferStatuses, "failed"] : openTransferStatuses;
  return source.actorsBy({ kind: "transfer", owner: threadId, statuses }).map(asTransfer);
}

export function openTasksOf(source: ActorSource, threadId: ThreadId): Task[] {
  return source.actorsBy({ kind: "task", owner: threadId, statuses: openTaskStatuses }).map(asTask);
}

export const openMoveStatuses = ["pending", "departing"] as const;

/** The move that is under way of a thread; there is one at most. */
export function openMoveOf(source: ActorSource, threadId: ThreadId): Move | null {
  const [row] = source.actorsBy({ kind: "move", owner: threadId, statuses: openMoveStatuses, limit: 1 });
  return row === undefined ? null : asMove(row);
}

/** A thread's runs by ordinal, within bounds. */
export function runsOf(
  source: ActorSource,
  threadId: ThreadId,
  bounds: { min?: number; max?: number; statuses?: readonly string[] } = {},
): Run[] {
  return source
    .actorsBy({
      kind: "run",
      owner: threadId,
      ...(bounds.min === undefined ? {} : { minOrdinal: bounds.min }),
      ...(bounds.max === undefined ? {} : { maxOrdinal: bounds.max }),
      ...(bounds.statuses === undefined ? {} : { statuses: bounds.statuses }),
    })
    .map(asRun);
}
