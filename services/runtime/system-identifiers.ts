import { randomFillSync } from "node:crypto";
import type { IdByNoun, IdNoun } from "../../schemas/ids.ts";
import type { Identifiers } from "./ports/identifiers.ts";

/** Random bytes are asked of the system many at a time: one at a time it is the dearest part of a small command. */
const pool = Buffer.alloc(6 * 1024);
let hex = "";
let at = 0;

let millisecond = 0;
let prefix = "";
/** 26 bits, begun at random below 2^25 in every millisecond: ids of one millisecond are in the order in which they were made. */
let counter = 0;

/**
 * A UUID of version 7: time, then a counter, then 48 random bits. Rows made together lie together in an index, and ids of
 * this process sort in the order in which they were made, also when the clock is set back.
 */
function uuidv7(): string {
  if (at === hex.length) {
    randomFillSync(pool);
    hex = pool.toString("hex");
    at = 0;
  }
  const now = Date.now();
  if (now > millisecond || counter === 0x3ff_ffff) {
    millisecond = Math.max(now, millisecond + 1);
    counter = Math.floor(Math.random() * 0x200_0000);
    const time = millisecond.toString(16).padStart(12, "0");
    prefix = `${time.slice(0, 8)}-${time.slice(8)}-7`;
  } else counter += 1;
  const high = (0x1000 | (counter >>> 14)).toString(16).slice(1);
  const low = (0x8000 | (counter & 0x3fff)).toString(16);
  const id = `${prefix}${high}-${low}-${hex.slice(at, at + 12)}`;
  at += 12;
  return id;
}

export const systemIdentifiers: Identifiers = {
  uuid: uuidv7,
  next: <N extends IdNoun>(noun: N) => `${noun}:${uuidv7()}` as unknown as IdByNoun[N],
};
