import type { OrdinalRange } from "../../schemas/provider.ts";

/** Ranges with one more ordinal in them; neighbours are joined. */
export function withOrdinal(ranges: readonly OrdinalRange[], ordinal: number): OrdinalRange[] {
  const all = [...ranges.map(([from, to]): OrdinalRange => [from, to]), [ordinal, ordinal] as OrdinalRange].sort((a, b) => a[0] - b[0]);
  const joined: OrdinalRange[] = [];
  for (const [from, to] of all) {
    const last = joined.at(-1);
    if (last !== undefined && from <= last[1] + 1) last[1] = Math.max(last[1], to);
    else joined.push([from, to]);
  }
  return joined;
}
