import type { Command } from "../schemas/command.ts";
import type { LinkBroker, LinkConfig } from "../schemas/link.ts";
import type { InviteOffer, InviteRequest, InviteView, JoinRequest, JoinResult } from "../schemas/pairing.ts";
import { Linking, type LinkingOptions } from "./linking.ts";
import { linkFingerprint } from "./links/fingerprint.ts";
import { Pairing } from "./pairing.ts";
import { changeConfig } from "./runtime/config-file.ts";
import type { LinkDesk } from "./runtime/link-desk.ts";
import type { Identifiers } from "./runtime/ports/identifiers.ts";

export type DeskOptions = LinkingOptions & {
  dir: string;
  ids: Identifiers;
  report(command: Command): Promise<unknown>;
};

/** Links while an environment runs: what the configuration says of them is changed here, on the disk first, and at once. */
export class Desk implements LinkDesk {
  readonly linking: Linking;
  readonly #o: DeskOptions;
  readonly #pairing: Pairing;

  constructor(options: DeskOptions) {
    this.#o = options;
    this.linking = new Linking(options);
    this.#pairing = new Pairing({
      ...options,
      linking: this.linking,
      adopt: (link, own) => this.#adopt(link, own),
      own: (broker) => this.#own(broker),
    });
  }

  /** Tells the store which links there are; before anything is recovered. */
  async configure(): Promise<void> {
    for (const link of this.#o.settings.config.links) await this.#configure(link);
  }

  async start(): Promise<void> {
    await this.linking.start();
    await this.#pairing.start();
  }

  async stop(): Promise<void> {
    await this.#pairing.stop();
    await this.linking.stop();
  }

  invite(request: InviteRequest): Promise<InviteOffer> {
    return this.#pairing.invite(request);
  }

  invites(): InviteView[] {
    return this.#pairing.invites();
  }

  join(request: JoinRequest): Promise<JoinResult> {
    return this.#pairing.join(request);
  }

  /** What people on both sides compare; null for a link that the configuration does not name. */
  fingerprint(link: LinkConfig | null): string | null {
    const { settings, keys } = this.#o;
    return link && linkFingerprint({ environmentId: settings.environmentId, publicKey: keys.publicKey }, link.peer);
  }

  async #adopt(link: LinkConfig, own: LinkBroker | null): Promise<void> {
    const { dir, settings } = this.#o;
    changeConfig(dir, (config) => ({ ...config, nats: config.nats ?? own, links: [...config.links, link] }));
    settings.relink({ nats: settings.config.nats ?? own, links: [...settings.config.links, link] });
    await this.#configure(link);
    await this.linking.serve(link);
  }

  #own(broker: LinkBroker): void {
    changeConfig(this.#o.dir, (config) => ({ ...config, nats: config.nats ?? broker }));
    this.#o.settings.relink({ nats: broker });
  }

  #configure({ id, name, peer }: LinkConfig): Promise<unknown> {
    return this.#o.report({ type: "link.configure", linkId: id, name, peerEnvironmentId: peer.environmentId });
  }
}
