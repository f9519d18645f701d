import { columns, cut, widthOf } from "./terminal.ts";

const gap = 2;
/** Columns of the flexible column below which others go first. */
const readable = 16;
const least = 8;

/**
 * Rows in columns. On a terminal each row fits: first the columns `spare` are left out, as far as needed, the first of them
 * first; then the column `flexible` is cut. Elsewhere nothing is cut or left out. The last column is not filled up. Cells may
 * be coloured, but for the flexible one.
 */
export function table(rows: readonly (readonly string[])[], flexible = 0, spare: readonly number[] = []): string {
  const count = Math.max(0, ...rows.map((row) => row.length));
  const widths = Array.from({ length: count }, (_, at) => Math.max(0, ...rows.map((row) => widthOf(row[at] ?? ""))));
  let kept = widths.map((_, at) => at);
  const others = () => kept.reduce((sum, at) => (at === flexible ? sum : sum + (widths[at] ?? 0)), 0) + gap * (kept.length - 1);
  for (const at of spare) {
    if (others() + Math.min(widths[flexible] ?? 0, readable) > columns()) kept = kept.filter((other) => other !== at);
  }
  widths[flexible] = Math.min(widths[flexible] ?? 0, Math.max(least, columns() - others()));
  return rows
    .map((row) =>
      kept
        .map((at, place) => {
          const shown = at === flexible ? cut(row[at] ?? "", widths[at] ?? 0) : (row[at] ?? "");
          return place === kept.length - 1 ? shown : shown + " ".repeat(Math.max(0, (widths[at] ?? 0) - widthOf(shown)));
        })
        .join(" ".repeat(gap))
        .trimEnd(),
    )
    .join("\n");
}

/** Names and values, one a line. */
export function facts(pairs: readonly (readonly [name: string, value: string] | null)[]): string {
  const told = pairs.filter((pair) => pair !== null);
  const width = Math.max(0, ...told.map(([name]) => widthOf(name)));
  return told.map(([name, value]) => `${name}${" ".repeat(width - widthOf(name))}  ${value}`).join("\n");
}
