import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { EnvironmentId } from "../../schemas/ids.ts";

/** What is kept of a secret: the half by which it is looked up, and the digest of the whole. */
export type KeptSecret = { name: string; digest: string };

const nameBytes = 9;
const secretBytes = 32;

/**
 * Secrets of one kind, for one environment: `<prefix><name>.<secret>`. The name is public and looked up, the rest is random
 * and only compared, by its digest and in constant time. A digest holds for this environment alone.
 */
export class Secrets {
  readonly #prefix: string;
  readonly #environmentId: EnvironmentId;

  constructor(prefix: string, environmentId: EnvironmentId) {
    this.#prefix = prefix;
    this.#environmentId = environmentId;
  }

  /** A new one. Its text is given out here and never again. */
  make(): { text: string; kept: KeptSecret } {
    const name = randomBytes(nameBytes).toString("base64url");
    const text = `${this.#prefix}${name}.${randomBytes(secretBytes).toString("base64url")}`;
    return { text, kept: { name, digest: this.#digest(text).toString("hex") } };
  }

  /** The name in a text that looks like such a secret, else null. */
  nameIn(text: string): string | null {
    if (!text.startsWith(this.#prefix)) return null;
    const [name = "", secret, ...more] = text.slice(this.#prefix.length).split(".");
    return name !== "" && secret !== undefined && more.length === 0 ? name : null;
  }

  /** Whether a text is the secret that this was kept of. Compares also where nothing was kept, so that both take as long. */
  is(text: string, kept: KeptSecret | undefined): boolean {
    const digest = this.#digest(text);
    const same = timingSafeEqual(digest, kept === undefined ? Buffer.alloc(digest.length) : Buffer.from(kept.digest, "hex"));
    return same && kept !== undefined;
  }

  #digest(text: string): Buffer {
    return createHash("sha256").update(`${this.#environmentId}\n${text}`).digest();
  }
}
