import { randomBytes } from "node:crypto";
import type { InviteId } from "../../../schemas/ids.ts";
import type { Grant, LinkBroker } from "../../../schemas/link.ts";
import { PairingHello, pairingVersion } from "../../../schemas/pairing.ts";
import { type Refusal, refusal } from "../../../schemas/refusal.ts";
import type { Clock } from "../../runtime/ports/clock.ts";
import type { LinkTransport } from "../../runtime/ports/link-transport.ts";
import type { EnvironmentKeys } from "../keys.ts";
import type { LinkLog } from "../link-side.ts";
import { toInviter, toJoiner } from "./channels.ts";
import { type Decision, decideJoin, type Known, wrongVersion } from "./decide.ts";
import type { Invite, Invites } from "./invites.ts";
import { isProof, openPairing, type Parties, provePairing, sealPairing } from "./sealing.ts";

export type PairingSelf = { environmentId: Known["self"]; name: string; keys: EnvironmentKeys };

export type InviterOptions = {
  self: PairingSelf;
  invites: Invites;
  clock: Clock;
  log: LinkLog;
  /** What is known of the environment that wants to join. */
  known(environmentId: PairingHello["environmentId"]): Pick<Known, "linked" | "crossing">;
  /** Pins the joiner's key and serves the link; done when it is on the disk. Called again for a repeat. */
  accepted(invite: Invite, joiner: PairingHello, linkId: Extract<Decision, { accept: true }>["linkId"]): Promise<void>;
};

/** The side that makes codes: hears whoever took one, decides, and says its word as often as it is asked. */
export class Inviter {
  readonly #o: InviterOptions;
  readonly #listening = new Map<InviteId, () => Promise<void>>();
  /** One joiner at a time: two with one code must not both be the first. */
  #deciding: Promise<unknown> = Promise.resolve();

  constructor(options: InviterOptions) {
    this.#o = options;
  }

  /** A new invitation, remembered; `gone` are those that are remembered no longer. */
  make(asked: { name: string | null; grants: Grant[]; broker: LinkBroker | null; validForMs: number }, id: InviteId) {
    const now = this.#o.clock.now();
    const { validForMs, ...rest } = asked;
    const secret = randomBytes(16).toString("base64url");
    const invite: Invite = { id, secret, ...rest, createdAt: now, expiresAt: now + validForMs, usedBy: null };
    return { invite, gone: this.#o.invites.put(invite, now) };
  }

  /** Hears who takes up `invite`, until `stop`. */
  async listen(invite: Invite, transport: LinkTransport): Promise<void> {
    if (this.#listening.has(invite.id)) return;
    this.#listening.set(invite.id, async () => {});
    const stop = await transport.consume(toInviter({ invite: invite.id }), async (batch) => {
      for (const sealed of batch) await this.#hear(invite.id, sealed, transport);
    });
    this.#listening.set(invite.id, stop);
  }

  /** Hears nobody with this code any more. */
  async unlisten(id: InviteId): Promise<void> {
    const stop = this.#listening.get(id);
    this.#listening.delete(id);
    await stop?.();
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#listening.keys()].map((id) => this.unlisten(id)));
    await this.#deciding.catch(() => {});
  }

  async #hear(id: InviteId, sealed: Uint8Array, transport: LinkTransport): Promise<void> {
    const deciding = this.#deciding.then(
      () => this.#answer(id, sealed, transport),
      () => this.#answer(id, sealed, transport),
    );
    this.#deciding = deciding;
    try {
      await deciding;
    } catch (error) {
      // The joiner asks again.
      this.#o.log.warn({ inviteId: id, error: String(error) }, "a joiner could not be answered");
    }
  }

  async #answer(id: InviteId, sealed: Uint8Array, transport: LinkTransport): Promise<void> {
    const { self, invites, clock, log, known, accepted } = this.#o;
    const invite = invites.get(id);
    const text = invite === null ? null : openPairing(invite.secret, id, "joiner", sealed);
    if (invite === null || text === null) {
      log.debug({ inviteId: id, bytes: sealed.length }, "something that was not sealed with the code's secret");
      return;
    }
    const heard = readHello(text);
    if (heard === null) return;
    const { hello, version } = heard;
    const parties: Parties = {
      invite: id,
      inviter: { environmentId: self.environmentId, publicKey: self.keys.publicKey },
      joiner: { environmentId: hello.environmentId, publicKey: hello.publicKey },
    };
    const shared = agreed(self.keys, hello.publicKey);
    if (shared === null) return;
    const say = (answer: { ok: true; linkId: string; name: string } | { ok: false; refusal: Refusal }) => {
      const said = answer.ok ? [answer.linkId, answer.name] : [answer.refusal.reason];
      const proof = provePairing(shared, invite.secret, "inviter", parties, said);
      const bytes = sealPairing(invite.secret, id, "inviter", JSON.stringify({ ...answer, proof }));
      return transport.publish(toJoiner({ invite: id }, hello.environmentId), bytes);
    };
    if (version !== pairingVersion) return say({ ok: false, refusal: wrongVersion(version) });
    if (!isProof(hello.proof, provePairing(shared, invite.secret, "joiner", parties, [hello.name])))
      return say({ ok: false, refusal: notProven });
    const decision = decideJoin(invite, hello, { self: self.environmentId, now: clock.now(), ...known(hello.environmentId) });
    if (!decision.accept) {
      log.info({ inviteId: id, from: hello.environmentId, reason: decision.refusal.reason }, "a joiner was refused");
      return say({ ok: false, refusal: decision.refusal });
    }
    const { linkId } = decision;
    if (!decision.repeated) {
      const usedBy = { environmentId: hello.environmentId, publicKey: hello.publicKey, linkId, at: clock.now() };
      invites.put({ ...invite, usedBy }, clock.now());
    }
    await accepted(invite, hello, linkId);
    await say({ ok: true, linkId, name: self.name });
  }
}

function agreed(keys: EnvironmentKeys, publicKey: string) {
  try {
    return keys.agree(publicKey);
  } catch {
    return null;
  }
}

/** Whatever its version, it says who wants to join: enough to be answered. */
function readHello(text: string): { hello: PairingHello; version: unknown } | null {
  try {
    const value = JSON.parse(text) as Record<string, unknown>;
    const hello = PairingHello.safeParse({ ...value, v: pairingVersion });
    return hello.success ? { hello: hello.data, version: value.v } : null;
  } catch {
    return null;
  }
}

const notProven = refusal(
  "invalid_request",
  "key_not_proven",
  "the joiner does not hold the private key of the public one that it showed",
  "Look at its keys with: ropewalk doctor",
);
