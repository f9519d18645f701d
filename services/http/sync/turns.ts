import type { ThreadId } from "../../../schemas/ids.ts";
import type { TurnItem } from "../../../schemas/item.ts";
import type { Run } from "../../../schemas/run.ts";
import type { ItemView, TurnView } from "../../../schemas/thread-view.ts";
import { itemView } from "./item-view.ts";
import { runView } from "./records.ts";

export type ShownItem = { ordinal: number; view: ItemView };

export const shown = (item: TurnItem): ShownItem => ({ ordinal: item.runOrdinal, view: itemView(item) });

/** Puts runs and items of one thread together, by ordinal. `from` is set where they are inherited. */
export function turnsOf(runs: readonly Run[], items: readonly ShownItem[], from: ThreadId | null): TurnView[] {
  const turns = new Map<number, TurnView>();
  const turn = (ordinal: number): TurnView => {
    const known = turns.get(ordinal);
    if (known !== undefined) return known;
    const made: TurnView = { ordinal, ...(from !== null && { inheritedFrom: from }) };
    turns.set(ordinal, made);
    return made;
  };
  for (const run of runs) turn(run.ordinal).run = runView(run);
  for (const { ordinal, view } of items) {
    const at = turn(ordinal);
    at.items ??= [];
    at.items.push(view);
  }
  return [...turns.values()].sort((a, b) => a.ordinal - b.ordinal);
}
