import type { LinkId } from "../schemas/ids.ts";
import type { LinkBroker, LinkConfig } from "../schemas/link.ts";
import { refusal } from "../schemas/refusal.ts";
import type { EnvironmentKeys } from "./links/keys.ts";
import type { LinkLog } from "./links/link-side.ts";
import { createNatsTransport } from "./links/nats/transport.ts";
import { createLinkService, type LinkService } from "./links/service.ts";
import type { LinkStatistics } from "./links/statistics.ts";
import { CommandRefused } from "./runtime/environment-api.ts";
import type { RuntimeLinkLedger } from "./runtime/ledger.ts";
import type { Clock } from "./runtime/ports/clock.ts";
import type { LinkTransport } from "./runtime/ports/link-transport.ts";
import type { Settings } from "./runtime/settings.ts";

export type LinkingOptions = {
  /** The fabric of a program that brings its own: all links talk over it. */
  given: LinkTransport | undefined;
  settings: Settings;
  keys: EnvironmentKeys;
  ledger: RuntimeLinkLedger;
  clock: Clock;
  log: LinkLog;
};

/** Carries the links of an environment, each over the server that it names: one service per server, made when it is needed. */
export class Linking {
  readonly #o: LinkingOptions;
  readonly #services = new Map<string, Promise<LinkService>>();
  /** Where each link is carried. */
  readonly #carried = new Map<LinkId, LinkService>();

  constructor(options: LinkingOptions) {
    this.#o = options;
  }

  /** Serves the links that the configuration names. Throws CommandRefused for one whose pinned key cannot be used. */
  async start(): Promise<void> {
    const { settings, keys } = this.#o;
    const { links } = settings.config;
    for (const { name, peer } of links) needUsableKey(keys, name, peer.publicKey);
    for (const link of links) await this.serve(link);
  }

  /** True when a program has brought a fabric of its own along, which needs no server. */
  get hasOwnFabric(): boolean {
    return this.#o.given !== undefined;
  }

  /** Carries a link from now on. */
  async serve(link: LinkConfig): Promise<void> {
    const service = await this.over(link.nats ?? null);
    if (service === null) {
      const text = "the link has no NATS server: nothing will be sent until config.json names one";
      this.#o.log.warn({ linkId: link.id, name: link.name }, text);
      return;
    }
    await service.serve(link);
    this.#carried.set(link.id, service);
  }

  /** The store says something else of a link than before: it is carried as it stands now. */
  async reserve(linkId: LinkId): Promise<void> {
    const link = this.#o.settings.link(linkId);
    await this.drop(linkId);
    if (link !== null) await this.serve(link);
  }

  async drop(linkId: LinkId): Promise<void> {
    const service = this.#carried.get(linkId);
    this.#carried.delete(linkId);
    await service?.drop(linkId);
  }

  stats(linkId: LinkId): LinkStatistics | null {
    return this.#carried.get(linkId)?.stats(linkId) ?? null;
  }

  /** The service over a server, started; null: the environment's own server, where it has one. */
  async over(broker: LinkBroker | null): Promise<LinkService | null> {
    const { given, settings } = this.#o;
    const named = broker ?? settings.config.nats;
    if (given === undefined && named === null) return null;
    const key = keyOf(given === undefined ? named : null);
    let service = this.#services.get(key);
    if (service === undefined) {
      service = this.#start(given ?? this.#transport(named as LinkBroker));
      this.#services.set(key, service);
    }
    return service;
  }

  /** Lets a server go that carries no link and is not the environment's own. */
  async release(broker: LinkBroker | null): Promise<void> {
    const { given, settings } = this.#o;
    const key = keyOf(broker);
    if (given !== undefined || broker === null || key === keyOf(settings.config.nats)) return;
    const service = await this.#services.get(key);
    if (service === undefined || [...this.#carried.values()].includes(service)) return;
    this.#services.delete(key);
    await service.stop();
  }

  async stop(): Promise<void> {
    const services = await Promise.all(this.#services.values());
    await Promise.all(services.map((service) => service.stop()));
  }

  async #start(transport: LinkTransport): Promise<LinkService> {
    const { settings, keys, ledger, clock, log } = this.#o;
    const service = createLinkService({
      environmentId: settings.environmentId,
      keys,
      links: [],
      transport,
      ledger,
      clock,
      logger: log,
    });
    await service.start();
    return service;
  }

  #transport({ url, credentialsFile }: LinkBroker): LinkTransport {
    const { settings, clock, log } = this.#o;
    const name = settings.config.environment.name;
    return createNatsTransport({ url, ...(credentialsFile === undefined ? {} : { credentialsFile }), name, clock, log });
  }
}

const keyOf = (broker: LinkBroker | null) => JSON.stringify([broker?.url ?? null, broker?.credentialsFile ?? null]);

/** A pinned key may look like one and be none: no secret can be shared with its holder, whoever that is. */
function needUsableKey(keys: EnvironmentKeys, name: string, publicKey: string): void {
  try {
    keys.agree(publicKey);
  } catch {
    throw new CommandRefused(
      refusal(
        "invalid_request",
        "peer_key_unusable",
        `the public key of the link "${name}" in config.json is no key that can be used`,
        "Copy the peer's key anew; the peer prints it with: ropewalk status --json",
      ),
    );
  }
}
