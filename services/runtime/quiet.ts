import type { MoveWait } from "../../schemas/move.ts";
import type { AppThread } from "../../schemas/thread.ts";
import { type ActorSource, openTasksOf } from "./typed-actors.ts";

/** What a thread is busy with, so that it cannot depart; null: it is quiet. A turn includes its approvals. */
export function busyWith(source: ActorSource, thread: AppThread): MoveWait | null {
  if (thread.status === "running" || thread.activeRunId !== null) return "turn";
  if (openTasksOf(source, thread.id).length > 0) return "children";
  return thread.restoring == null ? null : "files";
}
