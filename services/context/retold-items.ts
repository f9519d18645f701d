import type { VisibleItem } from "../../schemas/item.ts";
import type { AppThread } from "../../schemas/thread.ts";
import { readText } from "../runtime/content.ts";
import { type HistorySegment, historyOf, isPartOfHistory } from "../runtime/history.ts";
import type { Store } from "../runtime/ports/store.ts";
import { runsOf, transferFrom } from "../runtime/typed-actors.ts";
import { handedOverHeader } from "./headers.ts";

/** What is to be retold of a stretch of history: its runs that count, what they were told of others, in order. */
export function retoldItems(store: Store, segments: readonly HistorySegment[]): VisibleItem[] {
  return segments.flatMap((segment) => {
    const taken = new Set(
      runsOf(store, segment.threadId, { min: Math.max(segment.fromOrdinal, 1), max: segment.toOrdinal })
        .filter((run) => !isPartOfHistory(run, segment.asOf))
        .map((run) => run.ordinal),
    );
    return store
      .items(segment)
      .filter((item) => !taken.has(item.runOrdinal))
      .flatMap((item) => {
        const told = retold(store, { ...item, inherited: segment.inherited });
        return told === null ? [] : [told];
      });
  });
}

/**
 * A handoff in the history: what came from elsewhere (a merge, a child's result, what was handed over with a task) is part
 * of the conversation and told with its words; what only repeated the conversation itself is not told twice.
 */
function retold(store: Store, item: VisibleItem): VisibleItem | null {
  if (item.body.kind !== "handoff") return item;
  const transfer = transferFrom(store, item.body.transferId);
  const text = (told: string): VisibleItem => ({ ...item, body: { ...item.body, content: { text: told } } as VisibleItem["body"] });
  switch (transfer?.type) {
    case "merge_back":
    case "subagent_result": {
      const payload = store.handoff(item.body.handoffId)?.payload;
      return payload === undefined ? null : text(payload);
    }
    case "subagent_spawn":
      // The task itself is the first run's message.
      return transfer.content === null ? null : text(`${handedOverHeader}\n\n${readText(store, transfer.content)}`);
    default:
      return null;
  }
}

/** The history that a thread inherits. */
export function inheritedSegments(store: Store, thread: AppThread): HistorySegment[] {
  return historyOf(store, thread.id).filter((s) => s.inherited);
}

/** Everything that a thread shows before one of its runs. */
export function segmentsBefore(store: Store, thread: AppThread, ordinal: number): HistorySegment[] {
  return historyOf(store, thread.id, ordinal - 1);
}
