import type { ThreadId } from "../../schemas/ids.ts";
import type { AppThread } from "../../schemas/thread.ts";
import { historyOf } from "./history.ts";
import { type ActorSource, asThread } from "./typed-actors.ts";

/**
 * Forks that are there and show history of this thread: its own, and those of forks that were deleted in between. A fork
 * that is there stands for those below it, which show that history through it.
 */
export function forksThatNeed(source: ActorSource, threadId: ThreadId): AppThread[] {
  const found: AppThread[] = [];
  const left: ThreadId[] = [threadId];
  for (let at = left.pop(); at !== undefined; at = left.pop())
    for (const fork of source.actorsBy({ kind: "thread", owner: at }).map(asThread)) {
      if (fork.lineage.relationshipToParent !== "fork") continue;
      if (fork.status === "deleted") left.push(fork.id);
      else if (historyOf(source, fork.id).some((part) => part.threadId === threadId)) found.push(fork);
    }
  return found;
}
