import type { CommitBatch } from "./ports/store.ts";

/** A commit of nothing, as a start. */
export const emptyBatch = (at: number): CommitBatch => ({
  at,
  journal: [],
  actors: [],
  items: [],
  blobs: [],
  checkpoints: [],
  handoffs: [],
  providerThreads: [],
  projects: [],
  effects: [],
  effectStates: [],
  receipts: [],
  imports: [],
  links: [],
  outbox: [],
  receipted: [],
  incomingRequests: [],
  outgoingRequests: [],
  keptMessages: [],
  clearedProgress: [],
});
