import type { IncarnationId, LinkId } from "../../schemas/ids.ts";
import type { LinkPosition, LinkPositions } from "../../schemas/link.ts";
import type { LinkBody } from "../../schemas/wire.ts";
import { contentDigest, nextLinkDigest } from "../../services/runtime/link-digest.ts";
import {
  digestOrigin,
  type KnownPositions,
  type LinkLedger,
  type LinkLedgerState,
  type OutboxMessage,
  type ReceiveOutcome,
} from "../../services/runtime/ports/link-ledger.ts";

type Received = Parameters<LinkLedger["receive"]>[1];
type LinkState = LinkLedgerState & { outbox: OutboxMessage[]; applied: Received[]; reports: string[] };

/** A link ledger in memory: what the store promises, without a store. It outlives the service that uses it, as a store does. */
export class LedgerTwin implements LinkLedger {
  readonly incarnation: IncarnationId;
  /** Local trouble: nothing is taken while this is set. */
  trouble: string | null = null;
  readonly #links = new Map<LinkId, LinkState>();
  readonly #listeners = new Set<(linkId: LinkId) => void>();
  #commit = 0;
  #committing: Promise<void> | null = null;

  constructor(incarnation: IncarnationId, links: LinkId[]) {
    this.incarnation = incarnation;
    for (const linkId of links) {
      const start = { epoch: 1, number: 0, digest: digestOrigin };
      this.#links.set(linkId, {
        incarnation,
        sent: start,
        receipted: start,
        received: null,
        previous: null,
        peerIncarnation: null,
        diverged: false,
        revoked: false,
        ended: null,
        outbox: [],
        applied: [],
        reports: [],
      });
    }
  }

  /** Commits one outgoing message. */
  write(linkId: LinkId, body: LinkBody | string): void {
    const link = this.link(linkId);
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const kind = typeof body === "string" ? "notice" : body.type;
    const requestId = typeof body === "string" || body.type === "notice" ? null : body.requestId;
    const number = link.sent.number + 1;
    const digest = nextLinkDigest(link.sent.digest, contentDigest(text));
    this.#commit += 1;
    link.sent = { ...link.sent, number, digest };
    link.outbox.push({ epoch: link.sent.epoch, number, kind, requestId, body: text, digest, commit: this.#commit });
    for (const listener of this.#listeners) listener(linkId);
  }

  /** A person ended the divergence: what has no receipt goes out again in a new epoch. */
  rejoin(linkId: LinkId): void {
    const link = this.link(linkId);
    const waiting = link.outbox;
    link.diverged = false;
    link.sent = { epoch: link.sent.epoch + 1, number: 0, digest: digestOrigin };
    link.receipted = link.sent;
    link.outbox = [];
    for (const { body } of waiting) this.write(linkId, body);
  }

  link(linkId: LinkId): LinkState {
    const link = this.#links.get(linkId);
    if (link === undefined) throw new Error(`no link ${linkId}`);
    return link;
  }

  state(linkId: LinkId): LinkLedgerState {
    return this.link(linkId);
  }

  outbox(linkId: LinkId, after: LinkPosition, limit: { messages: number; bytes: number }): OutboxMessage[] {
    const found: OutboxMessage[] = [];
    let bytes = 0;
    const { outbox, sent } = this.link(linkId);
    // One epoch, without holes: the place follows from the number.
    const first = after.epoch === sent.epoch ? after.number + 1 - (outbox[0]?.number ?? 0) : 0;
    for (let place = Math.max(0, first); place < outbox.length; place += 1) {
      const message = outbox[place];
      if (message === undefined) break;
      if (found.length >= limit.messages || (found.length > 0 && bytes >= limit.bytes)) break;
      found.push(message);
      bytes += message.body.length;
    }
    return found;
  }

  async receive(linkId: LinkId, message: Received): Promise<ReceiveOutcome> {
    const outcome = this.#receive(this.link(linkId), message);
    await this.#committed();
    return outcome;
  }

  async receipt(linkId: LinkId, received: LinkPosition): Promise<"ok" | "diverged"> {
    const link = this.link(linkId);
    if (this.trouble !== null) throw new Error(this.trouble);
    if (link.diverged) return "diverged";
    if (received.epoch !== link.sent.epoch || received.number <= link.receipted.number) return "ok";
    const place = received.number - (link.outbox[0]?.number ?? 0);
    const message = link.outbox[place];
    if (message === undefined || message.digest !== received.digest) {
      link.diverged = true;
    } else {
      link.receipted = received;
      link.outbox = link.outbox.slice(place + 1);
    }
    await this.#committed();
    return link.diverged ? "diverged" : "ok";
  }

  async peerPositions(linkId: LinkId, positions: LinkPositions, known: KnownPositions | null): Promise<"ok" | "diverged"> {
    const link = this.link(linkId);
    const theirs = positions.received ?? { epoch: link.sent.epoch, number: 0, digest: digestOrigin };
    const wrong =
      (link.peerIncarnation !== null && positions.incarnation !== link.peerIncarnation) ||
      (theirs.epoch === link.sent.epoch && theirs.number > link.sent.number) ||
      differ(theirs, link.sent) ||
      differ(theirs, link.receipted) ||
      (link.received !== null && differ(positions.sent, link.received)) ||
      (known !== null && below(theirs, known.receipted)) ||
      (known?.received != null && below(positions.sent, known.received));
    link.peerIncarnation ??= positions.incarnation;
    link.diverged ||= wrong;
    await this.#committed();
    return link.diverged ? "diverged" : "ok";
  }

  async transportState(linkId: LinkId, state: "connecting" | "connected" | "lost", _error: string | null): Promise<void> {
    this.link(linkId).reports.push(state);
  }

  onOutbox(listener: (linkId: LinkId) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #receive(link: LinkState, message: Received): ReceiveOutcome {
    if (this.trouble !== null) return { outcome: "waiting", reason: this.trouble };
    if (link.diverged) return { outcome: "waiting", reason: "diverged" };
    const known = link.received;
    if (known !== null && message.epoch < known.epoch) return { outcome: "old", received: known };
    const received = known?.epoch === message.epoch ? known : { epoch: message.epoch, number: 0, digest: digestOrigin };
    if (message.number <= received.number) return { outcome: "old", received };
    if (message.number > received.number + 1) return { outcome: "gap", received: known };
    link.peerIncarnation ??= message.incarnation;
    link.received = { ...received, number: message.number, digest: nextLinkDigest(received.digest, message.contentDigest) };
    link.applied.push(message);
    return { outcome: "applied", received: link.received };
  }

  /** All that arrived in one turn of the event loop is one commit. */
  #committed(): Promise<void> {
    this.#committing ??= new Promise<void>((resolve) => {
      setImmediate(() => {
        this.#committing = null;
        this.#commit += 1;
        resolve();
      });
    });
    return this.#committing;
  }
}

function differ(a: LinkPosition, b: LinkPosition): boolean {
  return a.epoch === b.epoch && a.number === b.number && a.digest !== b.digest;
}

function below(a: LinkPosition, b: LinkPosition): boolean {
  return a.epoch < b.epoch || (a.epoch === b.epoch && a.number < b.number);
}
