import type { LinkEnding } from "../../schemas/link.ts";
import type { PublishFailure } from "../runtime/ports/link-transport.ts";

/** What `link show` tells of a link. Counts are of this process's life; times are milliseconds since 1970. */
export type LinkStatistics = {
  transport: "connecting" | "connected" | "lost";
  /** The peer has answered since the transport connected. */
  answered: boolean;
  diverged: boolean;
  revoked: boolean;
  /** The peer has said that a person there has ended the link. */
  endedByPeer: { how: LinkEnding; reason: string } | null;
  /** Numbered messages handed to the fabric, the repeats among them, and those that wait in the store for a receipt. */
  sent: number;
  repeated: number;
  backlog: number;
  /** Numbered messages of the peer that this store took, and repeats that it did not need. */
  received: number;
  repeats: number;
  /** Messages that were not from the peer, or not for us; authentic ones that could not be used. */
  refused: { notAuthentic: number; unusable: number };
  lastExchangeAt: number | null;
  lastReceiptAt: number | null;
  /** The fabric takes nothing at present. */
  heldBack: { failure: PublishFailure; message: string; since: number } | null;
  /** The store takes nothing at present. */
  waiting: { reason: string; since: number } | null;
  /** The next message's blob is not here yet. */
  waitingForBlob: { number: number; bytes: number; since: number } | null;
};

export function noStatistics(): LinkStatistics {
  return {
    transport: "connecting",
    answered: false,
    diverged: false,
    revoked: false,
    endedByPeer: null,
    sent: 0,
    repeated: 0,
    backlog: 0,
    received: 0,
    repeats: 0,
    refused: { notAuthentic: 0, unusable: 0 },
    lastExchangeAt: null,
    lastReceiptAt: null,
    heldBack: null,
    waiting: null,
    waitingForBlob: null,
  };
}
