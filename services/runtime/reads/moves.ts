import { isEndedMove } from "../../../schemas/move.ts";
import type { Moves } from "../environment-api.ts";
import type { Clock } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";
import { asMove, moveFrom, openMoveStatuses } from "../typed-actors.ts";
import type { Commits } from "./commits.ts";
import { commitsOf, waitFor } from "./waiting.ts";

export function moveReads(store: Store, commits: Commits, clock: Clock): Moves {
  return {
    list: ({ thread, open, limit, after } = {}) =>
      store
        .actorsBy({
          kind: "move",
          newestFirst: true,
          ...(thread === undefined ? {} : { owner: thread }),
          ...(open === true ? { statuses: openMoveStatuses } : {}),
          ...(limit === undefined ? {} : { limit }),
          ...(after === undefined ? {} : { after }),
        })
        .map(asMove),
    get: (id) => moveFrom(store, id),
    wait: (id, { timeoutMs = 60_000 } = {}) =>
      waitFor(
        commitsOf(commits, id),
        clock,
        timeoutMs,
        () => moveFrom(store, id),
        (move) => move === null || isEndedMove(move.status),
      ),
  };
}
