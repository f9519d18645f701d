import type { ActorId } from "../../../schemas/ids.ts";
import type { ActorQuery, ActorRow, Store } from "../ports/store.ts";

/** So few rows are read at once that nobody waits for it. */
const pageRows = 200;

/** Actors of a query in pieces, with a turn of the event loop for others between them: there may be very many. */
export async function* inPages(store: Store, query: Omit<ActorQuery, "after" | "limit">): AsyncGenerator<ActorRow[]> {
  let after: ActorId | undefined;
  for (;;) {
    const rows = store.actorsBy({ ...query, limit: pageRows, ...(after !== undefined && { after }) });
    yield rows;
    after = rows.at(-1)?.id;
    if (rows.length < pageRows || after === undefined) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** When the last event of an actor was. */
export function lastEventAt(store: Store, id: ActorId): number | null {
  const at = store.journal({ actorId: id, limit: mostEvents }).at(-1)?.event.at;
  return typeof at === "number" ? at : null;
}
const mostEvents = 10_000;
