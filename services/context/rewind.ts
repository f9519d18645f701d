import type { Coverage, ProviderCapabilities, ProviderThread, TurnName } from "../../schemas/provider.ts";
import type { OpenPlan, Run } from "../../schemas/run.ts";
import type { AppThread } from "../../schemas/thread.ts";
import { withOrdinal } from "../runtime/ordinals.ts";
import type { Store } from "../runtime/ports/store.ts";
import { asTransfer, runsOf } from "../runtime/typed-actors.ts";

/** Where a conversation that knows runs which were taken back can be taken back to, in place, and what it knows then. */
export type RewindPoint = { native: ProviderThread; keep: TurnName; afterOrdinal: number; knows: Coverage };

/**
 * How a conversation with a `cutAfter` can be gone on with by taking it back in place (decision 0115). Null: nothing of what
 * it served stands, the adapter does not do it or refused it once, or somebody needs what would go.
 *
 * What it knows then is read off the runs that stand, as what a run told it goes with that run's turn.
 */
export function rewindInPlace(store: Store, thread: AppThread, native: ProviderThread, can: ProviderCapabilities): RewindPoint | null {
  const { cutAfter } = native;
  if (cutAfter == null || can.rewind !== "inPlace" || native.rewindRefused !== undefined || native.nativeRef.strength !== "strong")
    return null;
  const served = runsOf(store, thread.id).filter((run) => run.providerThreadId === native.id);
  const kept = served.filter((run) => run.ordinal <= cutAfter && run.status !== "rolled_back");
  const began = beganWith(served[0], cutAfter);
  const last = kept.at(-1);
  const keep = last === undefined ? began?.keep : { turnRef: last.turnRef, attemptId: last.attempt?.id ?? null };
  if (keep === undefined || isNeeded(store, thread, cutAfter)) return null;
  return { native, keep, afterOrdinal: cutAfter, knows: kept.reduce(withWhatItKnew, began?.knows ?? blank) };
}

const blank: Coverage = { base: false, native: [], told: [], transfers: [] };

/** What a conversation that began as a fork had natively before its first own turn; that turn may be gone. */
function beganWith(opener: Run | undefined, cutAfter: number): { keep: TurnName; knows: Coverage } | null {
  const open = opener?.plan?.open;
  if (opener?.plan == null || open?.kind !== "fork") return null;
  const { upTo = 0 } = open;
  // A fork within the thread brought some of its runs. What was cut inside of these is forked anew, at the run that stands.
  if (upTo > cutAfter) return null;
  const told = opener.plan.tells.filter((ordinal) => ordinal <= upTo).reduce(withOrdinal, blank.told);
  return { keep: { turnRef: open.turnRef, attemptId: null }, knows: { ...blank, base: opener.plan.tellsBase, told } };
}

/** What a conversation knows with a run's input, on top of what it knew before. */
function withWhatItKnew(known: Coverage, run: Run): Coverage {
  const before = rewindOf(run.plan?.open)?.knows ?? blank;
  return {
    base: known.base || before.base || (run.plan?.tellsBase ?? false),
    native: withOrdinal(known.native, run.ordinal),
    told: [...(run.plan?.tells ?? []), ...before.told.flatMap(ordinalsOf)].reduce(withOrdinal, known.told),
    transfers: [...new Set([...known.transfers, ...before.transfers, ...run.transferIds])],
  };
}

const rewindOf = (open: OpenPlan | undefined) => (open?.kind === "resume" ? open.rewind : undefined);
const ordinalsOf = ([from, to]: readonly [number, number]) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

/** A fork that nobody has sent to yet would lose its native point with the turns that go. */
function isNeeded(store: Store, thread: AppThread, cutAfter: number): boolean {
  return store
    .actorsBy({ kind: "transfer", peer: thread.id, statuses: ["pending", "resolved_native"] })
    .map(asTransfer)
    .some((t) => t.type === "fork" && t.sourcePoint.threadId === thread.id && (t.sourcePoint.ordinal ?? 0) > cutAfter);
}
