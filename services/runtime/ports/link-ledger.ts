import type { IncarnationId, LinkId, RequestId } from "../../../schemas/ids.ts";
import type { LinkEnding, LinkPosition, LinkPositions } from "../../../schemas/link.ts";
import type { LinkBody } from "../../../schemas/wire.ts";

/** An outgoing message as its commit wrote it. `body` is the plain text that is digested, sealed and sent, byte for byte. */
export type OutboxMessage = {
  epoch: number;
  number: number;
  kind: LinkBody["type"];
  requestId: RequestId | null;
  body: string;
  /** Running digest of the direction including this message. */
  digest: string;
  commit: number;
};

export type LinkLedgerState = {
  incarnation: IncarnationId;
  /** Our direction: the last message that was written. */
  sent: LinkPosition;
  /** The highest position of our direction that the peer's store is known to have. */
  receipted: LinkPosition;
  /** The peer's direction: how far it has been applied here; null before its first message. */
  received: LinkPosition | null;
  /** Where this store stood when it was found to be a copy; told to the peer, which may hold more. */
  previous: LinkPositions["previous"];
  peerIncarnation: IncarnationId | null;
  diverged: boolean;
  revoked: boolean;
  /** What the peer is told once a person has ended the link. */
  ended: { how: LinkEnding; reason: string } | null;
};

/** What both stores were known to have at some moment: ours of theirs, theirs of ours. */
export type KnownPositions = { receipted: LinkPosition; received: LinkPosition | null };

export type ReceiveOutcome =
  /** In the store now; `received` is the new position. */
  | { outcome: "applied"; received: LinkPosition }
  /** An older number: the receipt is to be sent again. */
  | { outcome: "old"; received: LinkPosition }
  /** A number beyond the next one: what lies between is to be asked for. */
  | { outcome: "gap"; received: LinkPosition | null }
  /** The digests differ: the link is diverged now. */
  | { outcome: "diverged" }
  /** Local trouble or a diverged link: nothing was applied; it is to be delivered again later. */
  | { outcome: "waiting"; reason: string };

/**
 * What the links service knows of the store: positions, the outbox, and the commits that move them. Implemented over the
 * runtime by the composition root; every method that changes something resolves after the commit.
 */
export interface LinkLedger {
  state(linkId: LinkId): LinkLedgerState;
  /**
   * Messages after `position` that the peer has not receipted, in order: at most `messages` of them, and no further one
   * once their bodies together have reached `bytes` (the first is always given, however large).
   */
  outbox(linkId: LinkId, after: LinkPosition, limit: { messages: number; bytes: number }): OutboxMessage[];
  /**
   * Takes one message of the peer's direction. Calls may overlap, so that one commit can take many: they are decided in
   * the order of the calls, and one that follows a message that was not applied is answered `gap` or `waiting`.
   */
  receive(
    linkId: LinkId,
    message: {
      incarnation: IncarnationId;
      epoch: number;
      number: number;
      /** SHA-256 hex of the plain bytes. */
      contentDigest: string;
      body: LinkBody | null;
      raw: string;
      requestId: RequestId | null;
      commit: number;
    },
  ): Promise<ReceiveOutcome>;
  receipt(linkId: LinkId, received: LinkPosition): Promise<"ok" | "diverged">;
  /**
   * Remembers the peer's incarnation and compares positions; the link may be diverged afterwards. It moves no cursor
   * (`receipt` does). `known` is what we knew for certain *before* the peer stated these positions: they answer a
   * challenge of ours, so a number below `known` means that the peer's store lost something. With `known` null they may
   * be old or repeated by the fabric: numbers below ours then mean nothing; different digests at equal numbers, and a
   * received position beyond what was sent, always do.
   */
  peerPositions(linkId: LinkId, positions: LinkPositions, known: KnownPositions | null): Promise<"ok" | "diverged">;
  transportState(linkId: LinkId, state: "connecting" | "connected" | "lost", error: string | null): Promise<void>;
  /** Calls back after every commit that wrote to the outbox of any link. */
  onOutbox(listener: (linkId: LinkId) => void): () => void;
}

/** First value of a direction's running digest, and the step: SHA-256 over the previous digest and the message's own. */
export const digestOrigin = "0".repeat(64);
