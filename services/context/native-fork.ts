import type { Coverage, NativeRef, ProviderCapabilities, ProviderInstanceId } from "../../schemas/provider.ts";
import type { Run } from "../../schemas/run.ts";
import type { AppThread } from "../../schemas/thread.ts";
import type { ContextTransfer } from "../../schemas/transfer.ts";
import { inheritsAsOf, isPartOfHistory } from "../runtime/history.ts";
import type { Store } from "../runtime/ports/store.ts";
import { runFrom, runsOf, threadFrom } from "../runtime/typed-actors.ts";
import { hasBase, holds, knows } from "./coverage.ts";

export type NativePoint = { nativeRef: NativeRef; turnRef: NativeRef };

/**
 * Where an adapter can fork natively for a fork transfer: at exactly the source run's turn, in the native conversation
 * that served it, when that conversation knew everything up to there. The run belongs to its original owner, so a fork of
 * a fork asks for the owner's native turn and never for an id of ours (case F04). Null: it is to be retold instead.
 */
export function nativePointOf(
  store: Store,
  transfer: ContextTransfer,
  instance: ProviderInstanceId,
  can: ProviderCapabilities,
): NativePoint | null {
  if (transfer.type !== "fork" || transfer.sourcePoint.runId === null) return null;
  const run = runFrom(store, transfer.sourcePoint.runId);
  if (run === null || run.providerThreadId === null || run.turnRef?.strength !== "strong") return null;
  const native = store.providerThread(run.providerThreadId);
  if (native === null || native.lost || native.instance !== instance || native.nativeRef.strength !== "strong") return null;
  if (can.nativeFork === "none") return null;
  // Only its newest turn can be forked at, and only while nothing newer is under way.
  if (can.nativeFork === "head" && (native.lastRunId !== run.id || threadFrom(store, run.threadId)?.status !== "idle")) return null;
  // It may have been taken back in place since, and that turn with it.
  if (!holds(native.coverage.native, run.ordinal)) return null;
  const source = threadFrom(store, run.threadId);
  if (!knowsAllUpTo(store, source, run.ordinal, native.coverage, inheritsAsOf(threadFrom(store, transfer.targetThreadId)))) return null;
  return { nativeRef: native.nativeRef, turnRef: run.turnRef };
}

/**
 * Where a conversation that knows runs which were taken back can be forked so that it knows what stands and no more: at the
 * last run that stands and that it served, when it knew everything before it. What stands after `upTo` is still to be told.
 * Null: all that stands is retold.
 */
export function rewindPointOf(
  store: Store,
  thread: AppThread,
  standing: readonly Run[],
  instance: ProviderInstanceId,
  can: ProviderCapabilities,
): (NativePoint & { upTo: number }) | null {
  if (can.nativeFork === "none" || can.nativeFork === "head") return null;
  const last = standing.findLast((run) => run.providerThreadId !== null && run.provider?.instance === instance);
  if (last?.providerThreadId == null || last.turnRef?.strength !== "strong") return null;
  const native = store.providerThread(last.providerThreadId);
  if (native?.cutAfter == null || native.cutAfter < last.ordinal || native.lost || native.rewindRefused === "fork") return null;
  if (native.nativeRef.strength !== "strong" || !knowsAllUpTo(store, thread, last.ordinal, native.coverage)) return null;
  return { nativeRef: native.nativeRef, turnRef: last.turnRef, upTo: last.ordinal };
}

/** `asOf`: what was taken back later than that still counts. */
function knowsAllUpTo(store: Store, thread: AppThread | null, ordinal: number, coverage: Coverage, asOf?: number): boolean {
  if (thread === null || (hasBase(thread) && !coverage.base)) return false;
  const [first] = coverage.native;
  // The usual case without a look at the runs: one stretch from the first run on.
  if (first !== undefined && first[0] === 1 && first[1] >= ordinal) return true;
  return runsOf(store, thread.id, { min: 1, max: ordinal }).every((run) => !isPartOfHistory(run, asOf) || knows(coverage, run.ordinal));
}
