/** One direction of one link. */
export type LinkChannel = { linkId: string; to: string; from: string };

export type TransportState = { state: "connecting" | "connected" } | { state: "lost"; error: string };

export interface TransportEvents {
  /** Every change of state; the first call may come before `start` returns. */
  onState(state: TransportState): void;
  /** The fabric lost what it had of this channel, or all but: what was published on it may be gone. */
  onRenewed(channel: LinkChannel): void;
}

/** Why a publish did not happen; `full`: the channel's own bound, which holds back this sender alone. */
export type PublishFailure = "disconnected" | "timeout" | "full" | "failed";

export class PublishError extends Error {
  readonly failure: PublishFailure;
  constructor(failure: PublishFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "PublishError";
    this.failure = failure;
  }
}

/**
 * What carries sealed messages between environments. It may lose, repeat and reorder everything: correctness rests on
 * the two stores (links.md). Real driver: NATS JetStream (`services/links/nats/`); memory twin: `services/links/memory/`.
 */
export interface LinkTransport {
  /** Starts connecting and never gives up until `close`. */
  start(events: TransportEvents): void;
  /**
   * Resolves when the fabric has taken the message. Rejects with a {@link PublishError} within about two seconds when it
   * has not; it may still arrive. Calls may overlap; the fabric's order is the order of the calls.
   */
  publish(channel: LinkChannel, payload: Uint8Array): Promise<void>;
  /**
   * Delivers everything of a channel in the fabric's order, in batches of what is there (so that one commit can take
   * them all); the next batch only after `handle` resolved. What `handle` rejects is delivered again later. May be
   * called before the transport is connected; survives reconnects. The returned function stops it, after the batch that
   * is being handled. One consumer per channel.
   */
  consume(channel: LinkChannel, handle: (batch: Uint8Array[]) => Promise<void>): Promise<() => Promise<void>>;
  /** Puts bytes too large for a message under a name of its own; overwriting is allowed. Rejects when it could not. */
  putBlob(linkId: string, name: string, bytes: Uint8Array): Promise<void>;
  /** The bytes, or null when the fabric does not have them (any more). Rejects when it cannot say. */
  getBlob(linkId: string, name: string): Promise<Uint8Array | null>;
  /** Forgets the bytes; nothing happens when there are none. */
  deleteBlob(linkId: string, name: string): Promise<void>;
  /**
   * Takes away what the fabric keeps of a channel that nobody here consumes and that is not used again. Nothing happens
   * when there is nothing. Rejects when the fabric cannot be asked.
   */
  forget(channel: LinkChannel): Promise<void>;
  close(): Promise<void>;
}
