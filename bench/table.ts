import type { BenchResult, Figure } from "./figure.ts";

const columns = ["bench", "what", "ours", "spread", "beside", "ratio", "mark", ""] as const;

/** Results as a table for people. */
export function table(results: readonly BenchResult[]): string {
  const rows: string[][] = [[...columns]];
  for (const { name, figures, error } of results) {
    for (const f of figures) rows.push([name, ...cells(f)]);
    if (error !== undefined) rows.push([name, error.split("\n", 1)[0] ?? "", "", "", "", "", "", "FAILED"]);
  }
  const widths = columns.map((_, i) => Math.max(...rows.map((r) => (r[i] ?? "").length)));
  return rows
    .map((r) =>
      r
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

function cells(f: Figure): string[] {
  const [low, high] = f.spread;
  return [
    f.what,
    `${number(f.value)} ${f.unit}`,
    low === high ? "" : `${number(low)}-${number(high)}`,
    f.beside === undefined ? "" : `${f.beside.what} ${number(f.beside.value)} ${f.unit}`,
    f.ratio === undefined ? "" : `${f.ratio.toFixed(2)} x`,
    f.mark?.text ?? "",
    f.mark === undefined ? "" : f.mark.met ? "pass" : "MISS",
  ];
}

function number(value: number): string {
  if (value === 0) return "0";
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toFixed(digits);
}
