import type { RunId, ThreadId } from "../../schemas/ids.ts";
import type { Run } from "../../schemas/run.ts";
import type { AppThread } from "../../schemas/thread.ts";
import { type ActorSource, threadFrom } from "./typed-actors.ts";

/** A stretch of one thread's own history: runs `fromOrdinal` to `toOrdinal`, both included. Ordinal 0 is imported history. */
export type HistorySegment = { threadId: ThreadId; fromOrdinal: number; toOrdinal: number; inherited: boolean };

/**
 * What a thread shows, oldest first: what it inherits, by reference, then its own. Nothing is copied, so a fork of a
 * thread of ten thousand runs costs what a fork of ten costs. `upTo` bounds the thread's own part.
 */
export function historyOf(source: ActorSource, threadId: ThreadId, upTo = Number.MAX_SAFE_INTEGER): HistorySegment[] {
  const segments: HistorySegment[] = [];
  let at: ThreadId | null = threadId;
  let bound = upTo;
  while (at !== null) {
    const thread: AppThread | null = threadFrom(source, at);
    segments.unshift({ threadId: at, fromOrdinal: 0, toOrdinal: bound, inherited: at !== threadId });
    at = thread?.inherited?.threadId ?? null;
    bound = thread?.inherited?.ordinal ?? 0;
  }
  return segments;
}

/** The latest point that a thread can be forked at: its own, else the one it inherits. `threadId` is the owner's. */
export function latestStablePoint(thread: AppThread): { threadId: ThreadId; runId: RunId | null; ordinal: number } | null {
  if (thread.latestStable !== null) return { threadId: thread.id, runId: thread.latestStable.runId, ordinal: thread.latestStable.ordinal };
  return thread.inherited;
}

/**
 * Runs that belong to the conversation as it is retold: all that were given to a provider or ended on the way to one,
 * also with the process. Not those that a person took back before anybody saw them, nor those that a rollback took back.
 */
export function isPartOfHistory(run: Run): boolean {
  if (run.status === "rolled_back") return false;
  return run.acceptedAt !== null || run.status === "failed" || (run.status === "interrupted" && run.interruptReason === null);
}
