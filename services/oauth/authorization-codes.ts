import { createHash, timingSafeEqual } from "node:crypto";
import type { ClientGrant, ClientResource } from "../../schemas/client.ts";
import type { ClientId, EnvironmentId } from "../../schemas/ids.ts";
import type { Clock } from "../runtime/ports/clock.ts";
import { oauthLimits } from "./limits.ts";
import { type KeptSecret, Secrets } from "./secret.ts";

/** What a person approved, for the program that fetches its token with the code. */
export type Approval = {
  clientId: ClientId;
  redirectUri: string;
  /** SHA-256 of what only the program that asked knows, base64url (PKCE). */
  challenge: string;
  resources: ClientResource[];
  grant: ClientGrant;
};

type Open = { kept: KeptSecret; approval: Approval; expiresAt: number; tokenName: string | null; isUsed: boolean };

export type Redeemed =
  | { ok: true; approval: Approval /** Says which token came of it. */; issued(tokenName: string): void }
  /** `replayed`: the code was used before; what came of it then is to be taken back. */
  | { ok: false; replayed: { clientId: ClientId; tokenName: string } | null };

/** The codes of approvals whose token was not fetched yet; and for as long as one would be good, those that were used. */
export class AuthorizationCodes {
  readonly #clock: Clock;
  readonly #secrets: Secrets;
  readonly #open = new Map<string, Open>();

  constructor(environmentId: EnvironmentId, clock: Clock) {
    this.#clock = clock;
    this.#secrets = new Secrets("rwa_", environmentId);
  }

  make(approval: Approval): string {
    const { text, kept } = this.#secrets.make();
    this.#forget();
    this.#open.set(kept.name, {
      kept,
      approval,
      expiresAt: this.#clock.now() + oauthLimits.authorizationCodeMs,
      tokenName: null,
      isUsed: false,
    });
    const [oldest] = this.#open.keys();
    if (this.#open.size > oauthLimits.authorizationCodes && oldest !== undefined) this.#open.delete(oldest);
    return text;
  }

  /** What a code stands for. It is used by this, whatever else turns out to be wrong with the request. */
  redeem(text: string): Redeemed {
    this.#forget();
    const open = this.#open.get(this.#secrets.nameIn(text) ?? "");
    if (!this.#secrets.is(text, open?.kept) || open === undefined) return { ok: false, replayed: null };
    if (open.isUsed) {
      const { tokenName, approval } = open;
      return { ok: false, replayed: tokenName === null ? null : { clientId: approval.clientId, tokenName } };
    }
    open.isUsed = true;
    return {
      ok: true,
      approval: open.approval,
      issued: (tokenName) => {
        open.tokenName = tokenName;
      },
    };
  }

  #forget(): void {
    const now = this.#clock.now();
    for (const [name, { expiresAt }] of this.#open) if (now >= expiresAt) this.#open.delete(name);
  }
}

/** Whether a verifier is what a challenge was made of (RFC 7636, S256). */
export function provesChallenge(verifier: string, challenge: string): boolean {
  if (!/^[A-Za-z0-9._~-]{43,128}$/.test(verifier)) return false;
  const made = createHash("sha256").update(verifier, "ascii").digest();
  const given = Buffer.from(challenge, "base64url");
  return given.length === made.length && timingSafeEqual(made, given);
}
