import type { IdByNoun, IdNoun } from "../../../schemas/ids.ts";

/** Where fresh ids come from. Randomness enters the machines through these alone. */
export interface Identifiers {
  uuid(): string;
  next<N extends IdNoun>(noun: N): IdByNoun[N];
}
