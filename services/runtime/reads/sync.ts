import type { SyncReads } from "../environment-api.ts";
import { historyOf } from "../history.ts";
import type { Store } from "../ports/store.ts";
import { asThread, runsOf, threadFrom } from "../typed-actors.ts";
import type { Commits } from "./commits.ts";

/** What snapshots and patches are read with: in pieces, and no more than is shown. */
export function syncReads(store: Store, commits: Commits): SyncReads {
  return {
    onCommit: (listener) => commits.onCommit((commit) => listener(commit)),
    changedAfter: (place, limit) => store.changedAfter(place, limit),
    history: (id) => (threadFrom(store, id) === null ? [] : historyOf(store, id)),
    runs: (id, from, to) => runsOf(store, id, { min: from, max: to }),
    itemSizes: (range, limit, before) => store.itemSizes(range, limit, before),
    itemsBetween: (id, from, to) => store.itemsBetween(id, from, to),
    itemsAfter: (id, commit, limit) => store.itemsOfThreadAfter(id, commit, limit),
    threads: ({ limit, olderThan }) =>
      store
        .actorsBy({
          kind: "thread",
          statuses: ["idle", "running"],
          newestFirst: true,
          limit,
          ...(olderThan === undefined ? {} : { after: olderThan }),
        })
        .map((row) => ({ number: row.ordinal ?? 0, thread: asThread(row) })),
    threadNumber: (id) => store.actor(id)?.ordinal ?? 0,
  };
}
