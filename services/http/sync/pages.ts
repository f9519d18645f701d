import type { ItemId, ThreadId } from "../../../schemas/ids.ts";
import type { TurnItem } from "../../../schemas/item.ts";
import type { Environment, HistoryPart } from "../../runtime/environment-api.ts";
import type { ItemPosition, ItemSize } from "../../runtime/ports/store.ts";
import { bounds, breathe } from "./bounds.ts";
import { type ShownItem, shown } from "./turns.ts";

/** What is shown of one part of a history. Its runs are those whose ordinals are between the two. */
type ShownPart = HistoryPart & { items: ShownItem[] };
/** Oldest part first. `olderThan` is the oldest item, where there are older ones. */
export type HistoryPage = { parts: ShownPart[]; olderThan: ItemId | null };
export type Place = { threadId: ThreadId } & ItemPosition;

/** The newest items of a history, or those before `before`, as many as the bounds allow; of commits up to that of the call. */
export async function readPage(
  environment: Environment,
  history: readonly HistoryPart[],
  limit: number,
  before?: Place,
): Promise<HistoryPage> {
  const last = before === undefined ? history.length - 1 : history.findIndex(({ threadId }) => threadId === before.threadId);
  const items = new Map<HistoryPart, ShownItem[]>();
  let [count, bytes] = [0, 0];
  let oldest: TurnItem | null = null;
  let cutIn: HistoryPart | null = null;
  for await (const { part, item } of newestFirst(environment, history.slice(0, last + 1), limit + 1, before)) {
    if (count === limit || bytes >= bounds.shownBytes) {
      cutIn = part;
      break;
    }
    const next = shown(item);
    const its = items.get(part);
    if (its === undefined) items.set(part, [next]);
    else its.push(next);
    oldest = item;
    count += 1;
    bytes += JSON.stringify(next.view).length;
  }
  const from = cutIn === null ? 0 : history.indexOf(cutIn);
  const parts = history.slice(from, last + 1).flatMap((part): ShownPart[] => {
    const its = items.get(part)?.reverse() ?? [];
    if (part === cutIn && its.length === 0) return [];
    const fromOrdinal = part === cutIn ? (its[0] as ShownItem).ordinal : part.fromOrdinal;
    const toOrdinal = part.threadId === before?.threadId ? before.runOrdinal : part.toOrdinal;
    return [{ ...part, fromOrdinal, toOrdinal, items: its }];
  });
  return { parts, olderThan: cutIn === null ? null : (oldest?.id ?? null) };
}

/**
 * Items, newest first. Their sizes are looked at before they are loaded, so that what is read in one turn of the event
 * loop is little, whatever the thread holds.
 */
async function* newestFirst(
  environment: Environment,
  history: readonly HistoryPart[],
  limit: number,
  before?: Place,
): AsyncGenerator<{ part: HistoryPart; item: TurnItem }> {
  let left = limit;
  for (const part of history.toReversed()) {
    const sizes = environment.sync.itemSizes(part, left, part.threadId === before?.threadId ? before : undefined);
    left -= sizes.length;
    for (const slice of slicesOf(sizes)) {
      const items = environment.sync.itemsBetween(part.threadId, slice.at(-1) as ItemSize, slice[0] as ItemSize);
      for (const item of items.reverse()) yield { part, item };
      await breathe();
    }
    if (left <= 0) return;
  }
}

function slicesOf(sizes: readonly ItemSize[]): ItemSize[][] {
  const slices: ItemSize[][] = [];
  let bytes = 0;
  for (const size of sizes) {
    const slice = slices.at(-1);
    bytes += size.bytes;
    if (slice === undefined || slice.length >= bounds.sliceRecords || bytes > bounds.sliceBytes) {
      slices.push([size]);
      bytes = size.bytes;
    } else slice.push(size);
  }
  return slices;
}
