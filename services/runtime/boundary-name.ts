import type { CommitBatch } from "./ports/store.ts";

/**
 * What a crash test names a commit by: the events that were applied in it, each once, and what it says to peers or heard
 * from them; for a commit with none of these, the kind of rows that it writes.
 */
export function boundaryName(batch: CommitBatch): string {
  const names = [
    ...batch.journal.filter((row) => row.verdict === "applied").map((row) => row.event.type),
    ...batch.outbox.map((message) => `outbox.${message.kind}`),
    ...batch.receipted.map(() => "outbox.receipted"),
    ...(batch.links.length > 0 && batch.outbox.length + batch.receipted.length === 0 ? ["link.moved"] : []),
    ...(batch.outgoingRequests.some((request) => request.answer !== null) ? ["link.answered"] : []),
  ];
  if (names.length > 0) return [...new Set(names)].join(" ");
  if (batch.effectStates.length > 0) return [...new Set(batch.effectStates.map((effect) => `effect.${effect.state}`))].join(" ");
  return batch.items.length > 0 ? "items" : "records";
}
