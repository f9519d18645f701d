import type { EnvironmentId, LinkId } from "../../schemas/ids.ts";
import type { LinkConfig } from "../../schemas/link.ts";
import type { Clock } from "../runtime/ports/clock.ts";
import type { LinkLedger } from "../runtime/ports/link-ledger.ts";
import type { LinkTransport } from "../runtime/ports/link-transport.ts";
import { LinkDelivery } from "./delivery.ts";
import { type DeliveryOptions, defaultDeliveryOptions } from "./delivery-options.ts";
import { createLinkSeal } from "./envelope.ts";
import type { EnvironmentKeys } from "./keys.ts";
import { type LinkLog, silentLog } from "./link-side.ts";
import { type LinkStatistics, noStatistics } from "./statistics.ts";

export interface LinkService {
  /** Connects and keeps delivering until `stop`. Resolves at once, whether or not the fabric can be reached. */
  start(): Promise<void>;
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
  let forget: (() => void) | null = null;

  for (const link of links) {
    const { peer } = link;
    deliveries.set(
      link.id,
      new LinkDelivery({
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
      }),
    );
  }

  return {
    async start() {
      forget = ledger.onOutbox((linkId) => deliveries.get(linkId)?.grown());
      await Promise.all([...deliveries.values()].map((delivery) => delivery.start()));
      transport.start({
        onState(state) {
          for (const delivery of deliveries.values()) delivery.transport(state);
        },
        onRenewed(channel) {
          for (const [linkId, delivery] of deliveries) if (linkId === channel.linkId) delivery.renewed(channel);
        },
      });
    },
    stats: (linkId) => deliveries.get(linkId as LinkId)?.statistics() ?? null,
    async stop() {
      forget?.();
      await Promise.all([...deliveries.values()].map((delivery) => delivery.stop()));
      await transport.close();
    },
  };
}
