import fc from "fast-check";
import { expect, test } from "vitest";
import type { HandoffBudget } from "../../../schemas/handoff.ts";
import { type FitResult, fitBlocks } from "../../../services/context/budget.ts";
import { type Measure, measureIn } from "../../../services/context/measure.ts";
import type { Block } from "../../../services/context/render.ts";
import { itemId } from "./items.ts";

const noCounter = { count: () => Promise.reject(new Error("characters need no counter")) };
const chars = measureIn("chars", noCounter);
/** A unit in which a whole counts more than its parts, as tokens may. */
const growing: Measure = {
  sizes: async (texts) => texts.map((text) => Math.ceil(text.length / 3 + (text.length / 50) ** 2)),
  atMost: (text) => text.length * text.length,
  exact: false,
};

type Sketch = { size: number; request: boolean; key: boolean };
const sketches = fc.array(fc.record({ size: fc.nat(120), request: fc.boolean(), key: fc.boolean() }), { minLength: 1, maxLength: 25 });
const blocksOf = (sketch: Sketch[]): Block[] =>
  sketch.map(({ size, request, key }, index) => ({
    itemIds: index % 5 === 4 ? [itemId(index), itemId(index + 1_000)] : [itemId(index)],
    text: `<${index}>${"x".repeat(size)}</${index}>`,
    isRequest: request,
    isKey: key || request,
    cut: [],
  }));
const block = (text: string, more: Partial<Block> = {}): Block => ({
  itemIds: [itemId(Number(/\d+/.exec(text)?.[0] ?? 0))],
  text,
  isRequest: false,
  isKey: false,
  cut: [],
  ...more,
});
const inChars = (limit: number): HandoffBudget => ({ unit: "chars", limit });

function told(blocks: Block[], result: Extract<FitResult, { ok: true }>): Block[] {
  const out = new Set(result.leftOut.map(({ itemId: id }) => id));
  return blocks.filter(({ itemIds }) => !itemIds.some((id) => out.has(id)));
}

const cases = fc.record({ sketch: sketches, limit: fc.nat(1_500), tokens: fc.boolean() });
const fitCase = async ({ sketch, limit, tokens }: { sketch: Sketch[]; limit: number; tokens: boolean }) => {
  const blocks = blocksOf(sketch);
  const measure = tokens ? growing : chars;
  const result = await fitBlocks("Header.", blocks, { unit: tokens ? "tokens" : "chars", limit }, measure);
  return { blocks, result, limit, measure };
};

test("a payload is never larger than its budget, and its size is what it says", async () => {
  await fc.assert(
    fc.asyncProperty(cases, async (given) => {
      const { result, limit, measure } = await fitCase(given);
      if (!result.ok) return;
      const [size = 0] = await measure.sizes([result.payload]);
      expect(size).toBeLessThanOrEqual(limit);
      if (result.exact) expect(result.size).toBe(size);
      else expect(result.size).toBeGreaterThanOrEqual(size);
    }),
    { numRuns: 400 },
  );
});

test("what is told is whole and in its own order, the newest is told, and everything else is listed", async () => {
  await fc.assert(
    fc.asyncProperty(cases, async (given) => {
      const { blocks, result } = await fitCase(given);
      if (!result.ok) return;
      const kept = told(blocks, result);
      expect(kept.at(-1)).toBe(blocks.at(-1));
      const gaps = /\n\n\[(\d+) items? left out here\]/g;
      expect(result.payload.replaceAll(gaps, "")).toBe(["Header.", ...kept.map(({ text }) => text)].join("\n\n"));
      const named = [...result.payload.matchAll(gaps)].reduce((sum, [, count]) => sum + Number(count), 0);
      expect(named).toBe(result.leftOut.length);
      const ids = [...kept.flatMap(({ itemIds }) => itemIds), ...result.leftOut.map(({ itemId: id }) => id)];
      expect(ids.toSorted()).toEqual(blocks.flatMap(({ itemIds }) => itemIds).toSorted());
    }),
    { numRuns: 400 },
  );
});

test("the same blocks and budget give the same payload", async () => {
  await fc.assert(
    fc.asyncProperty(cases, async (given) => {
      expect((await fitCase(given)).result).toEqual((await fitCase(given)).result);
    }),
  );
});

test("a refusal names the size that is needed, with which it then works", async () => {
  await fc.assert(
    fc.asyncProperty(cases, async ({ sketch, limit }) => {
      const blocks = blocksOf(sketch);
      const refused = await fitBlocks("Header.", blocks, inChars(limit), chars);
      if (refused.ok) return;
      expect(refused.refusal).toMatchObject({ code: "invalid_request", reason: "context_too_large" });
      const needed = Number(refused.refusal.details?.size);
      expect(needed).toBeGreaterThan(limit);
      expect(refused.refusal.hint).toContain(String(needed));
      expect(refused.refusal.message).toContain(String(limit));
      expect(await fitBlocks("Header.", blocks, inChars(needed), chars)).toMatchObject({ ok: true });
    }),
  );
});

test("where something is left out, a line says in its place how many items", async () => {
  const blocks = [block("1 first", { isRequest: true }), block(`2 ${"x".repeat(900)}`), block(`3 ${"x".repeat(900)}`), block("4 last")];
  const result = await fitBlocks("", blocks, inChars(100), chars);
  expect(result).toMatchObject({ ok: true, payload: "1 first\n\n[2 items left out here]\n\n4 last", size: 40, exact: true });
  expect(result.ok && result.leftOut).toEqual([
    { itemId: itemId(2), reason: "over_budget", size: 902 },
    { itemId: itemId(3), reason: "over_budget", size: 902 },
  ]);
});

test("the first request is kept as soon as it fits beside the newest block, before anything newer", async () => {
  const request = block(`1 request ${"x".repeat(40)}`, { isRequest: true });
  const newer = Array.from({ length: 10 }, (_, n) => block(`${n + 2} newer`));
  const blocks = [block(`0 ${"x".repeat(60)}`), request, ...newer, block("12 last")];
  const kept = ["[1 item left out here]", request.text, "[10 items left out here]", "12 last"].join("\n\n");
  // A gap is reckoned as wide as its line can get.
  expect(await fitBlocks("", blocks, inChars(kept.length + 4), chars)).toMatchObject({ ok: true, payload: kept });
  const less = await fitBlocks("", blocks, inChars(kept.length - 1), chars);
  expect(less.ok && less.payload).toContain("11 newer\n\n12 last");
  expect(less.ok && less.payload).not.toContain("request");
});

test("half of the budget goes to the newest, then what was asked, decided or failed comes before the rest", async () => {
  const blocks = Array.from({ length: 40 }, (_, n) => block(`${n} ${"x".repeat(50)}`, { isKey: n % 4 === 0 }));
  const result = await fitBlocks("", blocks, inChars(1_200), chars);
  const kept = result.ok ? told(blocks, result).map((one) => blocks.indexOf(one)) : [];
  const newest = kept.filter((n) => n >= 31);
  expect(newest).toEqual([31, 32, 33, 34, 35, 36, 37, 38, 39]);
  expect(kept.filter((n) => n < 31 && n % 4 === 0).length).toBeGreaterThanOrEqual(4);
  expect(kept.filter((n) => n < 31 && n % 4 !== 0).length).toBeLessThanOrEqual(2);
});

test("a block that is too large is passed over for older ones that fit", async () => {
  const blocks = [block("1 small"), block(`2 ${"x".repeat(900)}`), block("3 last")];
  const result = await fitBlocks("", blocks, inChars(200), chars);
  expect(result.ok && result.payload).toBe("1 small\n\n[1 item left out here]\n\n3 last");
});

test("with no blocks at all the payload says that there is nothing", async () => {
  expect(await fitBlocks("Header.", [], inChars(100), chars)).toMatchObject({
    ok: true,
    payload: "Header.\n\n(There is nothing to tell.)",
  });
  expect(await fitBlocks("Header.", [], inChars(10), chars)).toMatchObject({ ok: false });
});
