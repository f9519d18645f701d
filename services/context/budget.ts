import type { HandoffBudget, LeftOut } from "../../schemas/handoff.ts";
import { type Refusal, refusal } from "../../schemas/refusal.ts";
import { type Measure, sizeOf } from "./measure.ts";
import type { Block } from "./render.ts";

/**
 * 1. A block is told whole or not at all, and what is told is in its own order.
 * 2. The payload, header and all, is never larger than the budget. Where a count of parts and a count of the whole differ,
 *    the whole counts.
 * 3. The newest block is told, or nothing is.
 * 4. Where blocks are missing, a line says how many items they were, and each is listed.
 */
export type Fitted = {
  payload: string;
  /** In the budget's unit; when not `exact`, a bound that it does not exceed. */
  size: number;
  exact: boolean;
  leftOut: LeftOut[];
};
export type FitResult = ({ ok: true } & Fitted) | { ok: false; refusal: Refusal };

const separator = "\n\n";
const nothing = "(There is nothing to tell.)";

/** Everything, when all of it fits. */
export async function fitWhole(head: string, blocks: readonly Block[], budget: HandoffBudget, measure: Measure): Promise<Fitted | null> {
  const payload = compose(head, blocks, () => true);
  const bound = measure.atMost(payload);
  if (bound <= budget.limit) return { payload, size: bound, exact: measure.exact, leftOut: cutsOf(blocks, blocks.map(cutBound)) };
  if (measure.exact) return null;
  // The parts first: most of them are the same in the next attempt with less detail, and are counted once.
  const sizes = await measure.sizes(blocks.map(({ text }) => text));
  if (sum(sizes) > budget.limit) return null;
  const size = await sizeOf(payload, measure);
  if (size > budget.limit) return null;
  return { payload, size, exact: true, leftOut: cutsOf(blocks, await cutSizes(blocks, measure)) };

  function cutBound({ cut }: Block): number {
    return measure.atMost(cut.join(""));
  }
}

/**
 * What fits, by preference: the newest block, the first request of the range, the newest of all kinds up to half of the
 * budget, then what was asked, decided or failed, then whatever still has room; each newest first.
 */
export async function fitBlocks(head: string, blocks: readonly Block[], budget: HandoffBudget, measure: Measure): Promise<FitResult> {
  const whole = await fitWhole(head, blocks, budget, measure);
  if (whole) return { ok: true, ...whole };

  const newest = blocks.length - 1;
  const kept = new Set([newest]);
  let payload = compose(head, blocks, (index) => kept.has(index));
  let size = await sizeOf(payload, measure);
  if (size > budget.limit) return { ok: false, refusal: tooLarge(size, budget) };

  const sizes = await measure.sizes(blocks.map(({ text }) => text));
  const [gap = 0, between = 0] = await measure.sizes([gapLine(countItems(blocks)), separator]);
  const added = choose(blocks, sizes, { from: size, limit: budget.limit, gap, between });
  for (const index of added) kept.add(index);
  payload = compose(head, blocks, (index) => kept.has(index));
  size = await sizeOf(payload, measure);
  // The whole may count more than its parts: then the least wanted go again.
  while (size > budget.limit && added.length > 0) {
    for (let over = size - budget.limit; over > 0 && added.length > 0; ) {
      const index = added.pop() ?? newest;
      kept.delete(index);
      over -= sizes[index] ?? 0;
    }
    payload = compose(head, blocks, (index) => kept.has(index));
    size = await sizeOf(payload, measure);
  }
  const missing = blocks.flatMap(({ itemIds }, index): LeftOut[] =>
    kept.has(index)
      ? []
      : // A block's size is named once, with its first item.
        itemIds.map((itemId, place) => ({ itemId, reason: "over_budget", size: place === 0 ? (sizes[index] ?? 0) : 0 })),
  );
  const told = blocks.filter((_, index) => kept.has(index));
  return { ok: true, payload, size, exact: true, leftOut: [...missing, ...cutsOf(told, await cutSizes(told, measure))] };
}

type Room = { from: number; limit: number; gap: number; between: number };

/** The blocks to add to the newest, most wanted first. What a gap's line costs is counted as gaps come and go. */
function choose(blocks: readonly Block[], sizes: readonly number[], { from, limit, gap, between }: Room): number[] {
  const newest = blocks.length - 1;
  const kept = new Set([newest]);
  const added: number[] = [];
  let used = from;
  const take = (index: number, upTo: number) => {
    if (kept.has(index)) return;
    const gapsAfter = Number(index > 0 && !kept.has(index - 1)) + Number(!kept.has(index + 1));
    const after = used + (sizes[index] ?? 0) + between + (gapsAfter - 1) * (gap + between);
    if (after > upTo) return;
    used = after;
    kept.add(index);
    added.push(index);
  };
  const newestFirst = (upTo: number, wanted: (block: Block) => boolean) => {
    for (let index = newest - 1; index >= 0; index -= 1) {
      const block = blocks[index];
      if (block && wanted(block)) take(index, upTo);
    }
  };
  const firstRequest = blocks.findIndex(({ isRequest }) => isRequest);
  if (firstRequest !== -1) take(firstRequest, limit);
  newestFirst(Math.floor(limit / 2), () => true);
  newestFirst(limit, ({ isKey }) => isKey);
  newestFirst(limit, () => true);
  return added;
}

function compose(head: string, blocks: readonly Block[], isKept: (index: number) => boolean): string {
  const parts = head === "" ? [] : [head];
  let missing = 0;
  blocks.forEach((block, index) => {
    if (isKept(index)) {
      if (missing > 0) parts.push(gapLine(missing));
      missing = 0;
      parts.push(block.text);
    } else {
      missing += block.itemIds.length;
    }
  });
  if (blocks.length === 0) parts.push(nothing);
  return parts.join(separator);
}

function gapLine(items: number): string {
  return items === 1 ? "[1 item left out here]" : `[${items} items left out here]`;
}

function countItems(blocks: readonly Block[]): number {
  return blocks.reduce((sum, { itemIds }) => sum + itemIds.length, 0);
}

function cutSizes(blocks: readonly Block[], measure: Measure): Promise<number[]> {
  return measure.sizes(blocks.map(({ cut }) => cut.join("")));
}

/** What was cut out of blocks that are told; `sizes` of the cuts of each. */
function cutsOf(blocks: readonly Block[], sizes: readonly number[]): LeftOut[] {
  return blocks.flatMap(({ cut, itemIds }, index): LeftOut[] =>
    cut.length === 0 ? [] : [{ itemId: itemIds[0] ?? null, reason: "truncated_output", size: sizes[index] ?? 0 }],
  );
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

/** Even the least that can be told is larger than the budget. `size` is what it would need. */
export function tooLarge(size: number, budget: HandoffBudget): Refusal {
  const unit = budget.unit === "chars" ? "characters" : "tokens";
  return refusal(
    "invalid_request",
    "context_too_large",
    `The least that can be told needs ${size} ${unit}, and the budget for it is ${budget.limit}.`,
    `Give the provider a handoff budget of at least ${size} ${unit}, or continue on another provider.`,
    { size, limit: budget.limit, unit: budget.unit },
  );
}
