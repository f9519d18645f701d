/** One direction of one link. */
export type LinkChannel = { linkId: string; to: string; from: string };

export type TransportState = { state: "connecting" | "connected" } | { state: "lost"; error: string };

/**
 * What carries sealed messages between environments. It may lose, repeat and reorder everything: correctness rests on
 * the two stores (links.md). Real driver: NATS JetStream (`services/links/nats/`); memory twin: `services/links/memory/`.
 */
export interface LinkTransport {
  /** Starts connecting and never gives up until `close`. Reports every change of state. */
  start(onState: (state: TransportState) => void): void;
  /** Resolves when the fabric has taken the message. Rejects within about two seconds when it has not; it may still arrive. */
  publish(channel: LinkChannel, payload: Uint8Array): Promise<void>;
  /**
   * Delivers everything of a channel, one at a time, in the fabric's order; the next only after `handle` resolved. What
   * `handle` rejects is delivered again later. Survives reconnects. The returned function stops it.
   */
  consume(channel: LinkChannel, handle: (payload: Uint8Array) => Promise<void>): Promise<() => Promise<void>>;
  /** Puts bytes too large for a message under a name of its own; overwriting is allowed. */
  putBlob(linkId: string, name: string, bytes: Uint8Array): Promise<void>;
  /** The bytes, or null when the fabric does not have them (any more). */
  getBlob(linkId: string, name: string): Promise<Uint8Array | null>;
  deleteBlob(linkId: string, name: string): Promise<void>;
  close(): Promise<void>;
}
