import { createHash, randomInt, timingSafeEqual } from "node:crypto";
import type { ClientGrant } from "../../schemas/client.ts";
import type { EnvironmentId } from "../../schemas/ids.ts";
import type { Clock } from "../runtime/ports/clock.ts";
import { oauthLimits } from "./limits.ts";

/** Crockford's digits: none that a reader takes for another. Ten of them are 50 bits. */
const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const length = 10;

type Open = { digest: Buffer; grant: ClientGrant; expiresAt: number };

/** The codes that a person was shown and has not used. In memory alone, and only as digests. */
export class PairingCodes {
  readonly #environmentId: EnvironmentId;
  readonly #clock: Clock;
  #open: Open[] = [];

  constructor(environmentId: EnvironmentId, clock: Clock) {
    this.#environmentId = environmentId;
    this.#clock = clock;
  }

  make(grant: ClientGrant): { code: string; expiresAt: number } {
    const plain = Array.from({ length }, () => digits[randomInt(digits.length)]).join("");
    const expiresAt = this.#clock.now() + oauthLimits.pairingCodeMs;
    this.#open = [...this.#current(), { digest: this.#digest(plain), grant, expiresAt }].slice(-oauthLimits.pairingCodes);
    return { code: `${plain.slice(0, length / 2)}-${plain.slice(length / 2)}`, expiresAt };
  }

  /** What a code gives, as a person typed it; null for one that is wrong, used, or too old. The code stays good. */
  look(typed: string): ClientGrant | null {
    return this.#find(typed)?.grant ?? null;
  }

  /** The same, and the code is used by it. */
  use(typed: string): ClientGrant | null {
    const found = this.#find(typed);
    this.#open = this.#open.filter((one) => one !== found);
    return found?.grant ?? null;
  }

  #find(typed: string): Open | null {
    const digest = this.#digest(asMeant(typed));
    let found: Open | null = null;
    // All are compared, whichever it is.
    for (const one of this.#current()) if (timingSafeEqual(one.digest, digest)) found = one;
    return found;
  }

  #current(): Open[] {
    const now = this.#clock.now();
    this.#open = this.#open.filter(({ expiresAt }) => now < expiresAt);
    return this.#open;
  }

  #digest(plain: string): Buffer {
    return createHash("sha256").update(`${this.#environmentId}\npairing\n${plain}`).digest();
  }
}

/** In capitals, without what is only between them, and with the digits that letters were taken for. */
function asMeant(typed: string): string {
  return typed.toUpperCase().replace(/[\s-]/g, "").replaceAll("O", "0").replace(/[IL]/g, "1");
}
