import type { ThreadId } from "../../schemas/ids.ts";
import type { ContextSourcePoint, ContextTransfer } from "../../schemas/transfer.ts";
import { type ActorSource, asTransfer } from "./typed-actors.ts";

/** Every merge-back of a pair, in commit order. */
export function mergesOf(source: ActorSource, fork: ThreadId, parent: ThreadId): ContextTransfer[] {
  return source
    .actorsBy({ kind: "transfer", owner: parent })
    .map(asTransfer)
    .filter((t) => t.type === "merge_back" && t.sourceThreadId === fork);
}

/** Up to where the parent was told of the fork: the source point of the last consumed merge-back of the pair, if any. */
export function mergedUpTo(source: ActorSource, fork: ThreadId, parent: ThreadId): ContextSourcePoint | null {
  const consumed = mergesOf(source, fork, parent).filter((t) => t.status === "consumed");
  return consumed.reduce<ContextSourcePoint | null>(
    (last, t) => ((last?.ordinal ?? -1) >= (t.sourcePoint.ordinal ?? 0) ? last : t.sourcePoint),
    null,
  );
}
