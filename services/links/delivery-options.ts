import { limits } from "../../schemas/limits.ts";

/** How a link's delivery behaves. Times only choose when something is repeated or shown; nothing is decided by them. */
export type DeliveryOptions = {
  /** Handed to the fabric and not receipted, at most. */
  windowMessages: number;
  windowBytes: number;
  /** Publishes that wait for the fabric's word at one time. While they do, what is written meanwhile gathers for the next. */
  publishesInFlight: number;
  /** What one publish carries at most; a single message may be larger than `frameBytes`. */
  frameMessages: number;
  frameBytes: number;
  /** Held while something before it is missing. */
  reorderMessages: number;
  reorderBytes: number;
  /** Given to the store at one time. */
  applyMessages: number;
  inlineBytes: number;
  /** A body beyond this is not fetched: it takes its number and is not applied. */
  maxBlobBytes: number;
  /** Nothing is outstanding: positions are exchanged this often. */
  idleMs: number;
  /** Something is outstanding and nothing moves: the first question after this, then at doubled distances. */
  quietMs: number;
  /** The longest distance between two questions that a peer does not answer. */
  unansweredMs: number;
  /** Questions keep at least this distance, whatever prompts them. */
  askMs: number;
  /** A message that the peer lacks may still be on its way for this long. */
  settleMs: number;
  /** Local trouble, the fabric's refusal, a missing blob: tried again after the first, then at doubled distances up to the second. */
  retryMs: number;
  retryMaxMs: number;
};

export const defaultDeliveryOptions: DeliveryOptions = {
  windowMessages: 4_096,
  windowBytes: 16 * 1024 * 1024,
  publishesInFlight: 8,
  frameMessages: 64,
  frameBytes: 128 * 1024,
  reorderMessages: 256,
  reorderBytes: 8 * 1024 * 1024,
  applyMessages: 128,
  inlineBytes: limits.linkInlineBytes,
  maxBlobBytes: 4 * limits.importRequestBytes,
  idleMs: 30_000,
  quietMs: 1_000,
  unansweredMs: 10 * 60_000,
  askMs: 100,
  settleMs: 250,
  retryMs: 100,
  retryMaxMs: 30_000,
};
