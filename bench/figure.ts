/** One line of a result: what was measured, what it is held against, and the mark. */
export type Figure = {
  /** What was done, with its size: `200 children`. */
  what: string;
  unit: "ms" | "us" | "B" | "KB" | "MB" | "/s" | "x" | "%" | "";
  /** Ours: the median of the samples. */
  value: number;
  /** Smallest and largest sample. */
  spread: readonly [number, number];
  /** What it is held against, measured in the same run. */
  beside?: { what: string; value: number };
  /** Ours over theirs, or theirs over ours where more is better. Lower is better in both. */
  ratio?: number;
  /** The mark that it must meet; without one the figure is shown for orientation. */
  mark?: { text: string; met: boolean };
};

export type BenchResult = { name: string; figures: Figure[]; ms: number; error?: string };

export type BenchOptions = {
  /** Smaller sizes and fewer samples: tells whether a bench works, not what it shows. */
  quick: boolean;
};

/** A bench measures in a process of its own and cleans up after itself. */
export type Bench = (options: BenchOptions) => Promise<Figure[]>;

export function median(samples: readonly number[]): number {
  const sorted = [...samples].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? (sorted[middle] as number) : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
}

/** A figure of samples, beside samples of something else that was measured in turn with them. */
export function figure(
  what: string,
  unit: Figure["unit"],
  samples: readonly number[],
  beside?: { what: string; samples: readonly number[]; moreIsBetter?: boolean; mark?: number },
): Figure {
  const value = median(samples);
  const spread = [Math.min(...samples), Math.max(...samples)] as const;
  if (beside === undefined) return { what, unit, value, spread };
  const other = median(beside.samples);
  const ratio = beside.moreIsBetter === true ? other / value : value / other;
  const held: Figure = { what, unit, value, spread, beside: { what: beside.what, value: other }, ratio };
  return beside.mark === undefined ? held : { ...held, mark: { text: `under ${beside.mark} x`, met: ratio < beside.mark } };
}

/** A figure that must stay under a bound of its own. */
export function bounded(what: string, unit: Figure["unit"], samples: readonly number[], limit: number): Figure {
  const plain = figure(what, unit, samples);
  return { ...plain, mark: { text: `under ${limit} ${unit}`, met: plain.value < limit } };
}
