import { columns, cut, widthOf } from "./terminal.ts";

/**
 * Rows in columns. On a terminal the column `flexible` is cut so that a row fits; elsewhere nothing is cut. The last column
 * is not filled up. Cells may be coloured, but for the flexible one.
 */
export function table(rows: readonly (readonly string[])[], flexible = 0): string {
  const count = Math.max(0, ...rows.map((row) => row.length));
  const widths = Array.from({ length: count }, (_, at) => Math.max(0, ...rows.map((row) => widthOf(row[at] ?? ""))));
  const gap = 2;
  const others = widths.reduce((sum, width, at) => (at === flexible ? sum : sum + width), 0) + gap * (count - 1);
  widths[flexible] = Math.min(widths[flexible] ?? 0, Math.max(16, columns() - others));
  return rows
    .map((row) =>
      row
        .map((cell, at) => {
          const shown = at === flexible ? cut(cell, widths[at] ?? 0) : cell;
          return at === count - 1 ? shown : shown + " ".repeat(Math.max(0, (widths[at] ?? 0) - widthOf(shown)));
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
