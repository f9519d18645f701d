import { v7 } from "uuid";
import type { IdByNoun, IdNoun } from "../../schemas/ids.ts";
import type { Identifiers } from "./ports/identifiers.ts";

/** Time-ordered ids, so that rows made together lie together in an index. */
export const systemIdentifiers: Identifiers = {
  uuid: () => v7(),
  next: <N extends IdNoun>(noun: N) => `${noun}:${v7()}` as unknown as IdByNoun[N],
};
