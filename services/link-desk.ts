import type { Command } from "../schemas/command.ts";
import type { LinkId } from "../schemas/ids.ts";
import type { LinkBroker, LinkConfig } from "../schemas/link.ts";
import type { InviteOffer, InviteRequest, InviteView, JoinRequest, JoinResult } from "../schemas/pairing.ts";
import { refusal } from "../schemas/refusal.ts";
import { Linking, type LinkingOptions } from "./linking.ts";
import { linkFingerprint } from "./links/fingerprint.ts";
import { Pairing } from "./pairing.ts";
import { changeConfig } from "./runtime/config-file.ts";
import { CommandRefused } from "./runtime/environment-api.ts";
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
  readonly #standing = new Map<LinkId, "live" | "diverged" | "ended">();
  #reserving: Promise<unknown> = Promise.resolve();
  #stopped = false;

  constructor(options: DeskOptions) {
    this.#o = options;
    this.linking = new Linking(options);
    this.#pairing = new Pairing({
      ...options,
      linking: this.linking,
      adopt: (link, own) => this.#adopt(link, own),
      own: (broker) => this.#own(broker),
      isEnded: (id) => this.#standingOf(id) === "ended",
    });
  }

  /** Tells the store which links there are; before anything is recovered. */
  async configure(): Promise<void> {
    for (const link of this.#o.settings.config.links) {
      await this.#configure(link);
      this.#standing.set(link.id, this.#standingOf(link.id));
    }
  }

  async start(): Promise<void> {
    await this.linking.start();
    await this.#pairing.start();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#reserving;
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

  rename(linkId: LinkId, name: string): Promise<LinkConfig> {
    return this.#change(linkId, (link) => ({ ...link, name }));
  }

  /** What was asked before is not undone; what is asked from now on is decided by these. */
  grant(linkId: LinkId, grants: LinkConfig["grants"]): Promise<LinkConfig> {
    return this.#change(linkId, (link) => ({ ...link, grants }));
  }

  /** Told of every commit that changed a link: one that has ended, or goes on after a divergence, is carried otherwise. */
  linkChanged(linkId: LinkId): void {
    const before = this.#standing.get(linkId);
    const now = this.#standingOf(linkId);
    this.#standing.set(linkId, now);
    const differently = before !== undefined && before !== now && (now === "ended" || before === "diverged");
    if (!differently || this.#stopped) return;
    this.#reserving = this.#reserving
      .then(() => (this.#stopped ? undefined : this.linking.reserve(linkId)))
      .catch((error: unknown) => this.#o.log.warn({ linkId, error: String(error) }, "the link could not be taken up anew"));
  }

  async #change(linkId: LinkId, change: (link: LinkConfig) => LinkConfig): Promise<LinkConfig> {
    const { settings, dir } = this.#o;
    const known = settings.link(linkId);
    if (known === null)
      throw new CommandRefused(refusal("invalid_request", "unknown_link", `there is no link ${linkId} here`, "See: ropewalk link list"));
    const changed = change(known);
    if (settings.config.links.some((link) => link.id !== linkId && link.name === changed.name))
      throw new CommandRefused(
        refusal("invalid_request", "name_taken", `another link is called "${changed.name}"`, "Choose another name."),
      );
    const all = (links: LinkConfig[]) => links.map((link) => (link.id === linkId ? change(link) : link));
    changeConfig(dir, (config) => ({ ...config, links: all(config.links) }));
    settings.relink({ links: all(settings.config.links) });
    await this.#configure(changed);
    return changed;
  }

  /** What people on both sides compare; null for a link that the configuration does not name. */
  fingerprint(link: LinkConfig | null): string | null {
    const { settings, keys } = this.#o;
    return link && linkFingerprint({ environmentId: settings.environmentId, publicKey: keys.publicKey }, link.peer);
  }

  async #adopt(link: LinkConfig, own: LinkBroker | null): Promise<void> {
    const { dir, settings } = this.#o;
    // An earlier link to the same environment is there only when a person has ended it: this one takes its place.
    const added = (links: LinkConfig[]) => [...links.filter(({ peer }) => peer.environmentId !== link.peer.environmentId), link];
    const earlier = settings.linkTo(link.peer.environmentId);
    changeConfig(dir, (config) => ({ ...config, nats: config.nats ?? own, links: added(config.links) }));
    settings.relink({ nats: settings.config.nats ?? own, links: added(settings.config.links) });
    if (earlier !== null) await this.linking.drop(earlier.id);
    await this.#configure(link);
    await this.linking.serve(link);
  }

  #standingOf(linkId: LinkId): "live" | "diverged" | "ended" {
    const { diverged, revoked } = this.#o.ledger.state(linkId);
    return revoked ? "ended" : diverged ? "diverged" : "live";
  }

  #own(broker: LinkBroker): void {
    changeConfig(this.#o.dir, (config) => ({ ...config, nats: config.nats ?? broker }));
    this.#o.settings.relink({ nats: broker });
  }

  #configure({ id, name, peer }: LinkConfig): Promise<unknown> {
    return this.#o.report({ type: "link.configure", linkId: id, name, peerEnvironmentId: peer.environmentId });
  }
}
