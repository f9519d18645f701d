import { z } from "zod";
import { positive } from "./input.ts";
import { invalid } from "./statuses.ts";

/** Records that a listing gives when nobody says how many, and at most. */
export const usualPage = 500;
const maxPage = 10_000;
/** Waiting within one request; whoever wants to wait longer asks again. Milliseconds. */
export const maxWaitMs = 60_000;
export const usualWaitMs = 20_000;

/** About how much a page holds, whatever its limit is: reading and writing it must not hold up everybody else. */
const pageChars = 192 * 1024;
const readAtOnce = 25;

/** What every listing takes. */
export const listing = {
  limit: positive(maxPage).optional().meta({ description: "At most so many; a page may end sooner." }),
};
export const Next = z.string().nullable().meta({ description: "The `cursor` of the next page; null when there is none." });

export type Page<T> = { records: T[]; next: string | null };

/**
 * One page of a listing: at most `limit` records, and no further one once they are about 192 KiB together. `read` gives at most
 * so many records behind one that was told; `after` is what the page goes on behind. The next cursor is the last one's id.
 */
export function pageOf<T extends { id: string }>(
  limit: number,
  after: T | undefined,
  read: (after: T | undefined, limit: number) => T[],
): Page<T> {
  const records: T[] = [];
  let [chars, last] = [0, after];
  while (records.length < limit && chars < pageChars) {
    const wanted = Math.min(readAtOnce, limit - records.length);
    const more = read(last, wanted);
    for (const record of more) {
      if (chars >= pageChars) break;
      records.push(record);
      chars += JSON.stringify(record).length;
    }
    last = records.at(-1) ?? last;
    // Not the end yet when it is short: a record that cannot be read is left out.
    if (more.length === 0) break;
  }
  const goesOn = records.length > 0 && read(last, readAtOnce).length > 0;
  return { records, next: goesOn ? (last?.id ?? null) : null };
}

/** The record that a cursor names; refused when it is not one of this listing. */
export function placeOf<T>(cursor: string | undefined, find: (cursor: string) => T | null): T | undefined {
  if (cursor === undefined) return undefined;
  const record = find(cursor);
  if (record !== null) return record;
  throw invalid("unknown_cursor", `${cursor} is no place in this listing`, "Begin again without a cursor.");
}
