import type { VisibleItem } from "../../../schemas/item.ts";
import type { Threads } from "../environment-api.ts";
import { historyOf } from "../history.ts";
import type { Store } from "../ports/store.ts";
import { asRun, asTask, asThread, asTransfer, threadFrom } from "../typed-actors.ts";

export function threadReads(store: Store): Omit<Threads, "bundle"> {
  return {
    list({ parent, includeDeleted = false, limit, after } = {}) {
      const statuses = includeDeleted ? {} : { statuses: ["idle", "running"] };
      return store
        .actorsBy({
          kind: "thread",
          newestFirst: true,
          ...statuses,
          ...(parent === undefined ? {} : { owner: parent }),
          ...(limit === undefined ? {} : { limit }),
          ...(after === undefined ? {} : { after }),
        })
        .map(asThread);
    },
    get: (id) => threadFrom(store, id),
    items(id, { limit, newestFirst = false, ownOnly = false, after } = {}) {
      if (threadFrom(store, id) === null) return [];
      const segments = historyOf(store, id).filter((s) => !ownOnly || !s.inherited);
      if (newestFirst) segments.reverse();
      // What an earlier page has told, whole segments first.
      const told = segments.findIndex((s) => s.threadId === after?.threadId);
      if (told > 0) segments.splice(0, told);
      const items: VisibleItem[] = [];
      for (const segment of segments) {
        const left = limit === undefined ? undefined : limit - items.length;
        if (left !== undefined && left <= 0) break;
        const page = {
          newestFirst,
          ...(left === undefined ? {} : { limit: left }),
          ...(segment.threadId === after?.threadId ? { after } : {}),
        };
        items.push(...store.items(segment, page).map((item) => ({ ...item, inherited: segment.inherited })));
      }
      return items;
    },
    item: (id) => store.item(id),
    blob: (digest) => store.blob(digest),
    runs: (id, { ordinal, ...page } = {}) =>
      store
        .actorsBy({ kind: "run", owner: id, ...page, ...(ordinal !== undefined && { minOrdinal: ordinal, maxOrdinal: ordinal }) })
        .map(asRun),
    providerThreads: (id) => store.providerThreadsOf(id),
    checkpoint: (id) => store.checkpoint(id),
    checkpoints: (id, page) => store.checkpointsOf(id, page),
    transfers: (id) => store.actorsBy({ kind: "transfer", owner: id }).map(asTransfer),
    tasks: (id) => store.actorsBy({ kind: "task", owner: id }).map(asTask),
  };
}
