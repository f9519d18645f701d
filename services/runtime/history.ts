import type { RunId, ThreadId } from "../../schemas/ids.ts";
import type { Run } from "../../schemas/run.ts";
import type { AppThread } from "../../schemas/thread.ts";
import { type ActorSource, threadFrom } from "./typed-actors.ts";

/** A stretch of one thread's own history: runs `fromOrdinal` to `toOrdinal`, both included. Ordinal 0 is imported history. */
export type HistorySegment = {
  threadId: ThreadId;
  fromOrdinal: number;
  toOrdinal: number;
  inherited: boolean;
  /** When an inherited stretch was taken over: its runs count as they did then. */
  asOf?: number;
};

/**
 * What a thread shows, oldest first: what it inherits, by reference, then its own. Nothing is copied, so a fork of a
 * thread of ten thousand runs costs what a fork of ten costs. `upTo` bounds the thread's own part.
 */
export function historyOf(source: ActorSource, threadId: ThreadId, upTo = Number.MAX_SAFE_INTEGER): HistorySegment[] {
  const segments: HistorySegment[] = [];
  let at: ThreadId | null = threadId;
  let bound = upTo;
  let asOf: number | undefined;
  while (at !== null) {
    const thread: AppThread | null = threadFrom(source, at);
    segments.unshift({
      threadId: at,
      fromOrdinal: 0,
      toOrdinal: bound,
      inherited: at !== threadId,
      ...(asOf !== undefined && { asOf }),
    });
    at = thread?.inherited?.threadId ?? null;
    bound = thread?.inherited?.ordinal ?? 0;
    asOf = inheritsAsOf(thread);
  }
  return segments;
}

/** When a fork took its inherited history over. */
export function inheritsAsOf(thread: AppThread | null): number | undefined {
  return thread?.inherited == null ? undefined : (thread.inherited.asOf ?? thread.createdAt);
}

/** The latest point that a thread can be forked at: its own, else the one it inherits. `threadId` is the owner's. */
export function latestStablePoint(thread: AppThread): { threadId: ThreadId; runId: RunId | null; ordinal: number } | null {
  if (thread.latestStable !== null) return { threadId: thread.id, runId: thread.latestStable.runId, ordinal: thread.latestStable.ordinal };
  return thread.inherited;
}

/**
 * Runs that belong to the conversation as it is retold: all that were given to a provider or ended on the way to one,
 * also with the process. Not those that a person took back before anybody saw them, nor those that a rollback took back;
 * to a fork these count all the same when they were taken back after `asOf`.
 */
export function isPartOfHistory(run: Run, asOf?: number): boolean {
  const goneLater = asOf !== undefined && run.takenBackAt !== undefined && run.takenBackAt >= asOf;
  const status = run.status === "rolled_back" && goneLater ? run.takenBackFrom : run.status;
  if (status === "rolled_back") return false;
  return run.acceptedAt !== null || status === "failed" || (status === "interrupted" && run.interruptReason === null);
}
