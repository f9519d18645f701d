import type { Change } from "../../../schemas/feed.ts";
import type { ActorId } from "../../../schemas/ids.ts";
import type { ActorRow, CommitBatch, Store, StoredJournalRow } from "../ports/store.ts";

/** Who is told of commits. A listener that throws is not told again; it harms nobody else. */
export class Commits {
  readonly #store: Store;
  readonly #listeners = new Set<(commit: number, batch: CommitBatch) => void>();
  /** By the actor that they ask about: thousands may wait, each for one. */
  readonly #actors = new Map<ActorId, Set<(row: ActorRow) => void>>();

  constructor(store: Store) {
    this.#store = store;
  }

  onCommit(listener: (commit: number, batch: CommitBatch) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Calls back after every commit that an actor is part of. Returns how to stop. */
  onActor(id: ActorId, listener: (row: ActorRow) => void): () => void {
    const listeners = this.#actors.get(id) ?? new Set();
    this.#actors.set(id, listeners);
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#actors.get(id) === listeners) this.#actors.delete(id);
    };
  }

  committed(commit: number, batch: CommitBatch): void {
    for (const listener of this.#listeners) attempt(() => listener(commit, batch), this.#listeners, listener);
    if (this.#actors.size === 0) return;
    for (const row of batch.actors) {
      const listeners = this.#actors.get(row.id);
      if (listeners !== undefined) for (const listener of listeners) attempt(() => listener(row), listeners, listener);
    }
  }

  /** Changes after a commit, whole commits only except that `limit` may end the last one. */
  changesAfter(commit: number, limit: number): Change[] {
    const { journal, last } = this.#applied(commit, limit);
    const items = this.#store.itemsAfterCommit(commit, limit).filter((i) => i.commit <= last);
    const changes: Change[] = journal.map((j) => ({
      type: "actor",
      commit: j.commit,
      index: j.index,
      actorId: j.actorId,
      kind: j.kind,
      seq: j.seq,
      event: j.event.type,
      from: j.from,
      to: j.to,
      at: (j.event as unknown as { at: number }).at,
    }));
    // Items follow the actors of their commit; 1,000,000 is above any journal index of one commit.
    for (const { commit: at, item } of items)
      changes.push({ type: "item", commit: at, index: 1_000_000 + item.position, threadId: item.threadId, item });
    return changes.sort((a, b) => a.commit - b.commit || a.index - b.index).slice(0, limit);
  }

  /** Late news that was ignored is no change. The page is filled up behind it, so that a page below the limit is always the last one. */
  #applied(afterCommit: number, limit: number): { journal: StoredJournalRow[]; last: number } {
    for (let size = limit; ; size *= 2) {
      const rows = this.#store.journal({ afterCommit, limit: size });
      const journal = rows.filter((j) => j.verdict === "applied");
      if (rows.length < size) return { journal, last: Number.MAX_SAFE_INTEGER };
      if (journal.length >= limit) return { journal, last: rows.at(-1)?.commit ?? 0 };
    }
  }
}

function attempt<L>(call: () => void, listeners: Set<L>, listener: L): void {
  try {
    call();
  } catch {
    listeners.delete(listener);
  }
}
