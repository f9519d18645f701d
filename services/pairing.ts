import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { EnvironmentId, InviteId, LinkId } from "../schemas/ids.ts";
import type { LinkBroker, LinkConfig } from "../schemas/link.ts";
import type { InviteOffer, InviteRequest, InviteView, JoinRequest, JoinResult, PairingCode, PairingHello } from "../schemas/pairing.ts";
import { type Refusal, refusal } from "../schemas/refusal.ts";
import type { Linking, LinkingOptions } from "./linking.ts";
import { linkFingerprint } from "./links/fingerprint.ts";
import { brokerProblem, isThisMachine } from "./links/pairing/broker.ts";
import { toInviter, toJoiner } from "./links/pairing/channels.ts";
import { readCode, writeCode } from "./links/pairing/code.ts";
import { linkOf } from "./links/pairing/decide.ts";
import { Inviter, type PairingSelf } from "./links/pairing/inviter.ts";
import { type Invite, Invites } from "./links/pairing/invites.ts";
import { takeUpCode } from "./links/pairing/joiner.ts";
import { CommandRefused } from "./runtime/environment-api.ts";
import type { Identifiers } from "./runtime/ports/identifiers.ts";

export type PairingOptions = Pick<LinkingOptions, "settings" | "keys" | "clock" | "log"> & {
  dir: string;
  ids: Identifiers;
  linking: Linking;
  /** Writes a link into the configuration, and serves it; done when both are so. `own`: the environment's server from now on. */
  adopt(link: LinkConfig, own: LinkBroker | null): Promise<void>;
  /** Makes a server the environment's own. */
  own(broker: LinkBroker): void;
  /** True for a link that a person has ended. */
  isEnded(link: LinkId): boolean;
};

const usualValidMs = 60 * 60_000;
const usualWaitMs = 30_000;
const connectMs = 5_000;
const crossedLookMs = 100;

/** Makes codes and takes them up (links.md, pairing; decision 0116). */
export class Pairing {
  readonly #o: PairingOptions;
  readonly #self: PairingSelf;
  readonly #invites: Invites;
  readonly #inviter: Inviter;
  /** Invitations of others that are being taken up, by who made them. */
  readonly #joining = new Map<EnvironmentId, InviteId>();

  constructor(options: PairingOptions) {
    this.#o = options;
    const { settings, keys, clock, log, dir } = options;
    this.#self = { environmentId: settings.environmentId, name: settings.config.environment.name, keys };
    this.#invites = new Invites(dir);
    this.#inviter = new Inviter({
      self: this.#self,
      invites: this.#invites,
      clock,
      log,
      known: (id) => ({ linked: this.#linked(id), crossing: this.#joining.get(id) ?? null }),
      accepted: (invite, joiner, linkId) => this.#accepted(invite, joiner, linkId),
    });
  }

  /** Hears whoever takes up a code that an earlier process has made. */
  async start(): Promise<void> {
    for (const invite of this.#invites.all) {
      const service = await this.#o.linking.over(invite.broker);
      if (service !== null) await this.#inviter.listen(invite, service.transport);
    }
  }

  async stop(): Promise<void> {
    await this.#inviter.stop();
  }

  async invite(request: InviteRequest): Promise<InviteOffer> {
    const { settings, linking, ids } = this.#o;
    const { name = null, grants, validForMs = usualValidMs } = request;
    let broker = linking.hasOwnFabric
      ? null
      : this.#ownUnlessOther(request.broker ?? (settings.config.nats === null ? request.brokerIfNone : undefined) ?? null);
    const named = broker ?? settings.config.nats;
    if (named !== null) refuseIf(brokerProblem(named.url));
    if (!linking.hasOwnFabric && named === null) throw new CommandRefused(noBroker);
    const service = await linking.over(broker);
    const why = (await service?.untilConnected(connectMs)) ?? null;
    if (service === null || why !== null) {
      await linking.release(broker);
      throw new CommandRefused(unreachable(named?.url ?? "the fabric", why ?? "there is none"));
    }
    if (broker !== null && settings.config.nats === null) {
      this.#o.own(broker);
      broker = null;
    }
    const { invite, gone } = this.#inviter.make({ name, grants, broker, validForMs }, ids.next("invite"));
    for (const old of gone) await this.#forget(old);
    await this.#inviter.listen(invite, service.transport);
    const place = linking.hasOwnFabric || named === null ? null : { url: named.url, credentials: request.peerCredentials ?? null };
    const { environmentId, keys } = this.#self;
    return {
      inviteId: invite.id,
      linkId: linkOf(invite.id),
      code: writeCode({ invite: invite.id, environmentId, publicKey: keys.publicKey, secret: invite.secret, broker: place }),
      expiresAt: invite.expiresAt,
      grants,
      brokerUrl: place?.url ?? null,
      onThisMachineOnly: place !== null && isThisMachine(place.url),
    };
  }

  invites(): InviteView[] {
    const now = this.#o.clock.now();
    return this.#invites.all.map(({ id, name, grants, createdAt, expiresAt, usedBy }) => ({
      inviteId: id,
      linkId: usedBy?.linkId ?? linkOf(id),
      name,
      grants,
      createdAt,
      expiresAt,
      state: usedBy !== null ? "used" : now < expiresAt ? "open" : "expired",
      usedBy: usedBy && { environmentId: usedBy.environmentId, at: usedBy.at, fingerprint: this.fingerprint(usedBy) },
    }));
  }

  async join(request: JoinRequest): Promise<JoinResult> {
    const read = readCode(request.code);
    if (!read.ok) throw new CommandRefused(read.refusal);
    const { code } = read;
    if (code.environmentId === this.#self.environmentId) throw new CommandRefused(ownCode);
    const linked = this.#linked(code.environmentId);
    if (linked !== null && linked.publicKey !== code.publicKey) throw new CommandRefused(otherKey);
    if (linked !== null && !linked.ended) return this.#result(linked.linkId, false);
    if (this.#joining.has(code.environmentId)) throw new CommandRefused(joiningAlready);
    this.#joining.set(code.environmentId, code.invite);
    try {
      return await this.#join(code, request);
    } finally {
      this.#joining.delete(code.environmentId);
    }
  }

  fingerprint(peer: { environmentId: string; publicKey: string }): string {
    return linkFingerprint({ environmentId: this.#self.environmentId, publicKey: this.#self.keys.publicKey }, peer);
  }

  async #join(code: PairingCode, { grants, name, waitMs = usualWaitMs }: JoinRequest): Promise<JoinResult> {
    const { linking, clock, settings } = this.#o;
    const place = this.#place(code);
    try {
      const service = await linking.over(place.broker);
      if (service === null) throw new CommandRefused(noBroker);
      const why = await service.untilConnected(Math.min(connectMs, waitMs));
      if (why !== null) throw new CommandRefused(unreachable(code.broker?.url ?? "the fabric", why));
      const joined = await takeUpCode(code, this.#self, { transport: service.transport, clock, waitMs });
      if (!joined.ok && joined.refusal.reason === "crossed") return await this.#crossed(code, waitMs);
      if (!joined.ok) throw new CommandRefused(joined.refusal);
      const { environmentId, publicKey } = code;
      if (settings.link(joined.linkId) !== null) return this.#result(joined.linkId, false);
      const own = settings.config.nats === null ? place.broker : null;
      const link: LinkConfig = {
        id: joined.linkId,
        name: this.#freeName(name ?? joined.inviterName),
        peer: { environmentId, publicKey },
        grants,
        ...(place.broker === null || own !== null ? {} : { nats: place.broker }),
      };
      await this.#o.adopt(link, own);
      return this.#result(joined.linkId, true);
    } catch (error) {
      if (place.made !== null) rmSync(place.made, { force: true });
      await linking.release(place.broker);
      throw error;
    }
  }

  /** Both sides invited and joined at once: the link comes by this side's own code, which the other one is taking up. */
  async #crossed(code: PairingCode, waitMs: number): Promise<JoinResult> {
    const { clock } = this.#o;
    for (let waited = 0; waited < waitMs; waited += crossedLookMs) {
      const linked = this.#linked(code.environmentId);
      if (linked !== null && !linked.ended) return this.#result(linked.linkId, true);
      await new Promise<void>((resolve) => void clock.after(crossedLookMs, resolve));
    }
    throw new CommandRefused(refusal("orchestration_error", "no_answer", "the other side did not finish joining", "Join again."));
  }

  async #accepted(invite: Invite, joiner: PairingHello, linkId: LinkId): Promise<void> {
    if (this.#o.settings.link(linkId) !== null) return;
    const { environmentId, publicKey, name } = joiner;
    const link: LinkConfig = {
      id: linkId,
      name: this.#freeName(invite.name ?? name),
      peer: { environmentId, publicKey },
      grants: invite.grants,
      ...(invite.broker === null ? {} : { nats: invite.broker }),
    };
    await this.#o.adopt(link, null);
    this.#o.log.info({ linkId, name: link.name, fingerprint: this.fingerprint(joiner) }, "an environment has joined with a code");
  }

  /** What is pinned of an environment; `ended`: by a link that is none any more. */
  #linked(id: EnvironmentId): { linkId: LinkId; publicKey: string; ended: boolean } | null {
    const link = this.#o.settings.linkTo(id);
    return link && { linkId: link.id, publicKey: link.peer.publicKey, ended: this.#o.isEnded(link.id) };
  }

  #result(linkId: LinkId, created: boolean): JoinResult {
    const link = this.#o.settings.link(linkId);
    if (link === null) throw new Error(`${linkId} is not configured`);
    const { name, peer } = link;
    return { linkId, name, environmentId: peer.environmentId, fingerprint: this.fingerprint(peer), created };
  }

  /** Names are what people type: no two links have the same. */
  #freeName(wished: string): string {
    const taken = new Set(this.#o.settings.config.links.map(({ name }) => name));
    const name = wished.trim() === "" ? "peer" : wished;
    for (let n = 2, free = name; ; n += 1) {
      if (!taken.has(free)) return free;
      free = `${name} ${n}`;
    }
  }

  /** Null when it is the environment's own server. */
  #ownUnlessOther(broker: LinkBroker | null): LinkBroker | null {
    return broker === null || broker.url === this.#o.settings.config.nats?.url ? null : broker;
  }

  /** The server of a code as this environment reaches it; `made`: the file that its credentials were put into. */
  #place(code: PairingCode): { broker: LinkBroker | null; made: string | null } {
    const { broker } = code;
    if (this.#o.linking.hasOwnFabric || broker === null) return { broker: null, made: null };
    refuseIf(brokerProblem(broker.url));
    const other = this.#ownUnlessOther({ url: broker.url });
    if (other === null || broker.credentials === null) return { broker: other, made: null };
    const made = join(this.#o.dir, "keys", `${code.invite.replace(":", "-")}.creds`);
    writeFileSync(made, broker.credentials, { mode: 0o600 });
    return { broker: { url: broker.url, credentialsFile: made }, made };
  }

  async #forget(invite: Invite): Promise<void> {
    await this.#inviter.unlisten(invite.id);
    const service = await this.#o.linking.over(invite.broker);
    const channels = [toInviter({ invite: invite.id })];
    if (invite.usedBy !== null) channels.push(toJoiner({ invite: invite.id }, invite.usedBy.environmentId));
    for (const channel of channels) await service?.transport.forget(channel).catch(() => {});
  }
}

function refuseIf(what: Refusal | null): void {
  if (what !== null) throw new CommandRefused(what);
}

const noBroker = refusal(
  "invalid_request",
  "no_broker",
  "no NATS server is known that both environments can reach",
  "Name one: ropewalk link invite --nats nats://HOST:4222 (a nats-server with JetStream: nats-server -js)",
);
const ownCode = refusal("invalid_request", "own_code", "this environment made the code itself", "Join on the other machine.");
const otherKey = refusal(
  "invalid_request",
  "peer_key_differs",
  "the code comes from an environment that is linked already, by another key",
  "If its keys were made anew on purpose, forget the old link first: ropewalk link forget",
);
const joiningAlready = refusal("orchestration_error", "joining_already", "a code of this environment is being taken up", "Wait for it.");
const unreachable = (url: string, why: string) =>
  refusal("orchestration_error", "broker_unreachable", `${url} cannot be reached: ${why}`, "Start it, or correct its address.");
