import type { EnvironmentId, LinkId } from "../../schemas/ids.ts";
import type { LinkConfig } from "../../schemas/link.ts";
import type { Clock } from "../runtime/ports/clock.ts";
import type { LinkLedger } from "../runtime/ports/link-ledger.ts";
import type { LinkTransport, TransportState } from "../runtime/ports/link-transport.ts";
import { LinkDelivery } from "./delivery.ts";
import { type DeliveryOptions, defaultDeliveryOptions } from "./delivery-options.ts";
import { createLinkSeal } from "./envelope.ts";
import type { EnvironmentKeys } from "./keys.ts";
import { type LinkLog, silentLog } from "./link-side.ts";
import { type LinkStatistics, noStatistics } from "./statistics.ts";

export interface LinkService {
  /** Connects and keeps delivering until `stop`. Resolves at once, whether or not the fabric can be reached. */
  start(): Promise<void>;
  readonly transport: LinkTransport;
  /** Carries one more link from now on; nothing happens for one that is served. Throws when its pinned key is no key. */
  serve(link: LinkConfig): Promise<void>;
  /** Carries it no longer. What has no receipt stays in the store. */
  drop(linkId: LinkId): Promise<void>;
  /** Resolves when the fabric is connected: null; or after `timeoutMs` with why it is not. */
  untilConnected(timeoutMs: number): Promise<string | null>;
  /** Null for a link that is not served here. */
  stats(linkId: string): LinkStatistics | null;
  /** Ends after what is under way; closes the transport. What has no receipt stays in the store. */
  stop(): Promise<void>;
}

export type LinkServiceOptions = {
  environmentId: EnvironmentId;
  keys: EnvironmentKeys;
  links: readonly LinkConfig[];
  transport: LinkTransport;
  ledger: LinkLedger;
  clock: Clock;
  logger?: LinkLog;
  options?: Partial<DeliveryOptions>;
};

/** Carries the messages of this environment's links. Throws when a link's pinned key is no key. */
export function createLinkService(given: LinkServiceOptions): LinkService {
  const { environmentId, keys, links, transport, ledger, clock } = given;
  const log = given.logger ?? silentLog;
  const options = { ...defaultDeliveryOptions, ...given.options };
  const deliveries = new Map<LinkId, LinkDelivery>();
  const waiting = new Set<(state: TransportState) => void>();
  let state: TransportState | null = null;
  let forget: (() => void) | null = null;

  function make(link: LinkConfig): LinkDelivery {
    const { peer } = link;
    const delivery = new LinkDelivery({
      linkId: link.id,
      incarnation: ledger.state(link.id).incarnation,
      out: { linkId: link.id, to: peer.environmentId, from: environmentId },
      in: { linkId: link.id, to: environmentId, from: peer.environmentId },
      seal: createLinkSeal({ linkId: link.id, self: { environmentId, keys }, peer }),
      transport,
      ledger,
      clock,
      log,
      options,
      statistics: noStatistics(),
    });
    deliveries.set(link.id, delivery);
    return delivery;
  }
  for (const link of links) make(link);

  return {
    transport,
    async start() {
      forget = ledger.onOutbox((linkId) => deliveries.get(linkId)?.grown());
      await Promise.all([...deliveries.values()].map((delivery) => delivery.start()));
      transport.start({
        onState(now) {
          state = now;
          for (const delivery of deliveries.values()) delivery.transport(now);
          for (const told of waiting) told(now);
        },
        onRenewed(channel) {
          for (const [linkId, delivery] of deliveries) if (linkId === channel.linkId) delivery.renewed(channel);
        },
      });
    },
    async serve(link) {
      if (deliveries.has(link.id)) return;
      const delivery = make(link);
      await delivery.start();
      if (state !== null) delivery.transport(state);
    },
    async drop(linkId) {
      const delivery = deliveries.get(linkId);
      deliveries.delete(linkId);
      await delivery?.stop();
    },
    async untilConnected(timeoutMs) {
      const { promise, resolve } = Promise.withResolvers<string | null>();
      let why = "there was no answer";
      const look = (now: TransportState | null) => {
        if (now?.state === "connected") resolve(null);
        if (now?.state === "lost") why = now.error;
      };
      look(state);
      waiting.add(look);
      const cancel = clock.after(timeoutMs, () => resolve(why));
      const outcome = await promise;
      waiting.delete(look);
      cancel();
      return outcome;
    },
    stats: (linkId) => deliveries.get(linkId as LinkId)?.statistics() ?? null,
    async stop() {
      forget?.();
      await Promise.all([...deliveries.values()].map((delivery) => delivery.stop()));
      await transport.close();
    },
  };
}
