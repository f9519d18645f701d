import { createHash } from "node:crypto";
import type { EnvironmentId, IncarnationId, LinkId, TaskId } from "../../schemas/ids.ts";
import type { LinkConfig } from "../../schemas/link.ts";
import type { LinkBody } from "../../schemas/wire.ts";
import type { DeliveryOptions } from "../../services/links/delivery-options.ts";
import { type EnvironmentKeys, generateKeys } from "../../services/links/keys.ts";
import { createLinkService, type LinkService } from "../../services/links/service.ts";
import type { Clock } from "../../services/runtime/ports/clock.ts";
import type { LinkTransport } from "../../services/runtime/ports/link-transport.ts";
import { LedgerTwin } from "./ledger-twin.ts";

/** A well-formed uuid that follows from `name`. */
function uuidFor(name: string): string {
  const hex = createHash("sha256").update(name).digest("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join("-");
}

/** One side of a link: a store that lasts, and a service over it that comes and goes. */
export class LinkEnd {
  readonly environmentId: EnvironmentId;
  readonly keys: EnvironmentKeys = generateKeys();
  readonly ledger: LedgerTwin;
  readonly linkId: LinkId;
  readonly clock: Clock;
  readonly options: Partial<DeliveryOptions>;
  peer: LinkConfig["peer"] | null = null;
  #service: LinkService | null = null;

  constructor(name: string, linkId: LinkId, clock: Clock, options: Partial<DeliveryOptions>) {
    this.environmentId = `env:${uuidFor(`${linkId} ${name}`)}` as EnvironmentId;
    this.linkId = linkId;
    this.clock = clock;
    this.options = options;
    this.ledger = new LedgerTwin(`inc:${uuidFor(`${linkId} ${name} incarnation`)}` as IncarnationId, [linkId]);
  }

  async start(transport: LinkTransport): Promise<LinkService> {
    const { environmentId, keys, ledger, clock, linkId, options, peer } = this;
    if (peer === null) throw new Error("no peer");
    const links = [{ id: linkId, name: "peer", peer, grants: [] }];
    this.#service = createLinkService({ environmentId, keys, links, transport, ledger, clock, options });
    await this.#service.start();
    return this.#service;
  }

  async stop(): Promise<void> {
    await this.#service?.stop();
    this.#service = null;
  }

  get stats() {
    const stats = this.#service?.stats(this.linkId);
    if (stats == null) throw new Error("the service is not running");
    return stats;
  }

  get state() {
    return this.ledger.link(this.linkId);
  }

  /** Commits `count` notices, numbered by their place in our direction. */
  write(count: number): void {
    for (let i = 0; i < count; i += 1) this.ledger.write(this.linkId, notice(this.state.sent.number + 1));
  }
}

/** Two ends that trust each other's keys. */
export function linkPair(name: string, clock: Clock, options: Partial<DeliveryOptions> = {}): { linkId: LinkId; a: LinkEnd; b: LinkEnd } {
  const linkId = `link:${uuidFor(name)}` as LinkId;
  const a = new LinkEnd("a", linkId, clock, options);
  const b = new LinkEnd("b", linkId, clock, options);
  a.peer = { environmentId: b.environmentId, publicKey: b.keys.publicKey };
  b.peer = { environmentId: a.environmentId, publicKey: a.keys.publicKey };
  return { linkId, a, b };
}

function notice(number: number): LinkBody {
  return { type: "notice", notice: { kind: "task.started", taskId: `task:${uuidFor(`task ${number}`)}` as TaskId } };
}

/** Everything that `from` wrote is in `to`'s store, once and in order, and `from` knows it. */
export function arrived(from: LinkEnd, to: LinkEnd): boolean {
  const { sent, receipted } = from.state;
  return receipted.number === sent.number && to.state.applied.length === sent.number;
}

/** The numbers that a store applied, in the order in which it did. */
export function appliedNumbers(end: LinkEnd): number[] {
  return end.state.applied.map(({ number }) => number);
}

export function oneTo(n: number): number[] {
  return Array.from({ length: n }, (_, i) => i + 1);
}
