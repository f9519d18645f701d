import type { Coverage, OrdinalRange, ProviderThread } from "../../schemas/provider.ts";
import type { Run } from "../../schemas/run.ts";
import type { AppThread } from "../../schemas/thread.ts";
import { isPartOfHistory } from "../runtime/history.ts";
import { type ActorSource, asRun, runsOf } from "../runtime/typed-actors.ts";

export const holds = (ranges: readonly OrdinalRange[], ordinal: number) => ranges.some(([from, to]) => from <= ordinal && ordinal <= to);

/** Whether a native conversation knows a run of its thread, by having served it or by having been told. */
export function knows(coverage: Coverage, ordinal: number): boolean {
  return holds(coverage.native, ordinal) || holds(coverage.told, ordinal);
}

/** How far back is looked for an input that a provider may have taken; further back nobody minds a repeat. */
const repeatsWithin = 20;

/**
 * True when nobody knows whether a provider took an earlier input of this thread, since the last that one took for certain:
 * what is told now may be a repeat (contract §7, told at least once).
 */
export function mayRepeat(source: ActorSource, run: Run): boolean {
  const before = source
    .actorsBy({ kind: "run", owner: run.threadId, maxOrdinal: run.ordinal - 1, newestFirst: true, limit: repeatsWithin })
    .map(asRun);
  const certain = before.findIndex((r) => r.acceptedAt !== null);
  return before.slice(0, certain === -1 ? undefined : certain).some((r) => r.error?.reason === "outcome_unknown");
}

/** True when the thread has history from before its own runs: inherited by a fork, or imported. */
export function hasBase(thread: AppThread): boolean {
  return thread.inherited !== null || thread.historyOrigin === "v1_import";
}

/** Own runs before `beforeOrdinal` that a native conversation does not know; with null, all of them. */
export function missingRuns(source: ActorSource, thread: AppThread, native: ProviderThread | null, beforeOrdinal: number): Run[] {
  const first = native === null ? 1 : firstGap(native.coverage, beforeOrdinal);
  return runsOf(source, thread.id, { min: first, max: beforeOrdinal - 1 }).filter(
    (run) => isPartOfHistory(run) && (native === null || !knows(native.coverage, run.ordinal)),
  );
}

/** The first ordinal from 1 on that is not covered: what lies before it needs no look. */
function firstGap(coverage: Coverage, beforeOrdinal: number): number {
  let ordinal = 1;
  while (ordinal < beforeOrdinal && knows(coverage, ordinal)) ordinal += stretch(coverage, ordinal);
  return ordinal;
}

function stretch(coverage: Coverage, ordinal: number): number {
  const range = [...coverage.native, ...coverage.told].find(([from, to]) => from <= ordinal && ordinal <= to);
  return range === undefined ? 1 : range[1] - ordinal + 1;
}
