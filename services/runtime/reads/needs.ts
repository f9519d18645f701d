import type { Need } from "../../../schemas/need.ts";
import { openFailures } from "../needs/failures.ts";
import { type HeldBack, waitingLinks } from "../needs/links.ts";
import { openQuestions } from "../needs/questions.ts";
import { stuckRuns } from "../needs/stuck-runs.ts";
import type { Clock } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";

/** All that waits for a person, longest first. */
export function needReads(store: Store, clock: Clock, heldBack: HeldBack): () => Promise<Need[]> {
  return async () => {
    const now = clock.now();
    const found = await Promise.all([openQuestions(store), openFailures(store), stuckRuns(store, now), waitingLinks(store, heldBack, now)]);
    return found.flat().sort((a, b) => a.since - b.since || (a.about < b.about ? -1 : 1));
  };
}
