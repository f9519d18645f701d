import type { HandoffBudget } from "../../schemas/handoff.ts";
import type { TokenCounter } from "./tokens.ts";

/** Sizes of texts in the unit of a budget. Characters are UTF-16 units, as everywhere in the contract's limits. */
export type Measure = {
  sizes(texts: string[]): Promise<number[]>;
  /** A size that the text does not exceed, known without counting. */
  atMost(text: string): number;
  /** True when `atMost` is the size itself. */
  exact: boolean;
};

/** A counted text is remembered, so that the same one is not counted again while one handoff is built. */
export function measureIn(unit: HandoffBudget["unit"], counter: Pick<TokenCounter, "count">): Measure {
  if (unit === "chars") {
    return { sizes: async (texts) => texts.map(({ length }) => length), atMost: ({ length }) => length, exact: true };
  }
  const known = new Map<string, number>([["", 0]]);
  return {
    async sizes(texts) {
      const unknown = [...new Set(texts)].filter((text) => !known.has(text));
      const counts = await counter.count(unknown);
      unknown.forEach((text, index) => {
        known.set(text, counts[index] ?? 0);
      });
      return texts.map((text) => known.get(text) ?? 0);
    },
    // A token of this family stands for at least one byte.
    atMost: (text) => Buffer.byteLength(text),
    exact: false,
  };
}

export async function sizeOf(text: string, measure: Measure): Promise<number> {
  const [size = 0] = await measure.sizes([text]);
  return size;
}
