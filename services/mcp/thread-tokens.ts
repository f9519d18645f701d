import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { Caller } from "../../schemas/command.ts";
import type { EnvironmentId, ThreadId } from "../../schemas/ids.ts";
import type { AppTools, ThreadToolsPort } from "../runtime/ports/thread-tools.ts";

type Issued = { digest: Buffer; threadId: ThreadId; instance: string };

const prefix = "rwt_";
const secretBytes = 32;

/**
 * The tokens by which the agents of this environment's threads call its tools: one for each open provider session, given
 * with it and taken with it. Only digests are kept, in memory alone: no token outlives the process whose sessions it is for.
 */
export class ThreadTokens implements ThreadToolsPort {
  readonly #environmentId: EnvironmentId;
  #url: string | null = null;
  /** By the token's public half, which is looked up; the secret half is compared in constant time. */
  readonly #issued = new Map<string, Issued>();
  readonly #onRevoked = new Set<() => void>();

  constructor(environmentId: EnvironmentId) {
    this.#environmentId = environmentId;
  }

  /** Where sessions from now on find the tools; null: nowhere, and no token is made. */
  servedAt(url: string | null): void {
    this.#url = url;
  }

  issue(session: { threadId: ThreadId; instance: string }): AppTools | null {
    return this.#url === null ? null : { url: this.#url, token: this.make(session) };
  }

  /** A new token for one provider session of a thread. It is shown here and never again. */
  make(session: { threadId: ThreadId; instance: string }): string {
    const name = randomBytes(9).toString("base64url");
    const token = `${prefix}${name}.${randomBytes(secretBytes).toString("base64url")}`;
    this.#issued.set(name, { ...session, digest: this.#digest(token) });
    return token;
  }

  /** Whose token this is, or null: unknown, of another environment, or taken back. */
  verify(token: string): Extract<Caller, { kind: "thread" }> | null {
    const issued = this.#issued.get(nameOf(token));
    const digest = this.#digest(token);
    // Compared also where there is nothing to compare with, so that both take the same time.
    const same = timingSafeEqual(digest, issued?.digest ?? Buffer.alloc(digest.length));
    // Which of its runs calls cannot be told from the session; the deciding step takes the one that is under way.
    return same && issued !== undefined ? { kind: "thread", threadId: issued.threadId, runId: null } : null;
  }

  revoke(token: string): void {
    if (!this.#issued.delete(nameOf(token))) return;
    for (const listener of this.#onRevoked) listener();
  }

  /** Calls back after a token was taken back. */
  onRevoked(listener: () => void): () => void {
    this.#onRevoked.add(listener);
    return () => this.#onRevoked.delete(listener);
  }

  #digest(token: string): Buffer {
    return createHash("sha256").update(`${this.#environmentId}\n${token}`).digest();
  }
}

function nameOf(token: string): string {
  return token.startsWith(prefix) ? token.slice(prefix.length).replace(/\..*$/s, "") : "";
}
