import type { ActorId } from "../../schemas/ids.ts";
import type { ActorQuery, ActorRow, Store } from "./ports/store.ts";

/**
 * Committed actors that were touched lately, oldest given up first. Rows are never changed in place: whoever reads here
 * shares them, so they go to nobody outside.
 */
export class HotActors {
  readonly #store: Store;
  readonly #limit: number;
  readonly #rows = new Map<ActorId, ActorRow>();

  constructor(store: Store, limit = 8_192) {
    this.#store = store;
    this.#limit = limit;
  }

  actor(id: ActorId): ActorRow | null {
    const hot = this.#rows.get(id);
    if (hot !== undefined) return hot;
    const row = this.#store.actor(id);
    if (row !== null) this.#keep(row);
    return row;
  }

  actorsBy(query: ActorQuery): ActorRow[] {
    return this.#store.actorIds(query).flatMap((id) => this.actor(id) ?? []);
  }

  /** After a commit. */
  put(rows: readonly ActorRow[]): void {
    for (const row of rows) this.#keep(row);
  }

  /** After a commit that failed: whatever is here may be older than what another attempt finds. */
  clear(): void {
    this.#rows.clear();
  }

  /** An actor is as old as its last event; being read does not make it younger. */
  #keep(row: ActorRow): void {
    this.#rows.delete(row.id);
    this.#rows.set(row.id, row);
    if (this.#rows.size <= this.#limit) return;
    const oldest = this.#rows.keys().next().value;
    if (oldest !== undefined) this.#rows.delete(oldest);
  }
}
