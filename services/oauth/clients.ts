import { v7 } from "uuid";
import type { ClientGrant, ClientResource, ClientView } from "../../schemas/client.ts";
import type { Caller } from "../../schemas/command.ts";
import type { ClientId, EnvironmentId } from "../../schemas/ids.ts";
import type { Clock } from "../runtime/ports/clock.ts";
import { readClients, type StoredClient, type StoredToken, writeClients } from "./clients-file.ts";
import { oauthLimits } from "./limits.ts";
import { Secrets } from "./secret.ts";

export type Registration = { program: string; redirectUris: string[] };
export type Issued = { token: string; name: string; lifetimeMs: number };
/** Is told when a program is let in and when that is taken back, for the log. */
type Tell = (facts: object, text: string) => void;
type ClientCaller = Extract<Caller, { kind: "client" }>;

/**
 * The programs that have registered, those that were let in, and their tokens: in memory, and in the folder's file, which is
 * written before anybody is answered.
 */
export class Clients {
  readonly #dir: string;
  readonly #clock: Clock;
  readonly #secrets: Secrets;
  readonly #clients = new Map<ClientId, StoredClient>();
  readonly #tokens = new Map<string, { client: StoredClient; token: StoredToken }>();
  readonly #onRevoked = new Set<() => void>();
  readonly #tell: Tell;
  #writtenAt: number;
  #isBehind = false;

  /** Throws CommandRefused when the folder's file cannot be used. */
  constructor(dir: string, environmentId: EnvironmentId, clock: Clock, tell: Tell = () => {}) {
    this.#dir = dir;
    this.#tell = tell;
    this.#clock = clock;
    this.#secrets = new Secrets("rwc_", environmentId);
    this.#writtenAt = clock.now();
    for (const client of readClients(dir)) this.#clients.set(client.id, client);
    this.#index();
  }

  /** Remembers a program. It may ask to be let in by this, and nothing else. */
  register({ program, redirectUris }: Registration): StoredClient {
    const id = `client:${v7()}` as ClientId;
    const client: StoredClient = { id, program, redirectUris, registeredAt: this.#clock.now(), name: null, tokens: [] };
    this.#change(() => this.#clients.set(id, client));
    return client;
  }

  get(id: string): StoredClient | null {
    return this.#clients.get(id as ClientId) ?? null;
  }

  /** A token for a program that a person has let in; null when there is no such program any more. */
  issue(id: ClientId, grant: ClientGrant, resources: ClientResource[]): Issued | null {
    const client = this.#clients.get(id);
    if (client === undefined) return null;
    const { text, kept } = this.#secrets.make();
    const issuedAt = this.#clock.now();
    const token: StoredToken = { ...kept, issuedAt, expiresAt: issuedAt + oauthLimits.tokenMs, usedAt: null, resources, grant };
    this.#change(() => {
      client.name = grant.name ?? client.program;
      client.tokens = [...client.tokens, token].slice(-oauthLimits.tokensPerClient);
    });
    this.#tell(
      { clientId: id, name: client.name, program: client.program, resources, grant, expiresAt: token.expiresAt },
      "program let in",
    );
    return { token: text, name: kept.name, lifetimeMs: oauthLimits.tokenMs };
  }

  /** Who has this token, for one of the resources; null: unknown, taken back, run out, or good for something else. */
  callerOf(text: string, resource: ClientResource): ClientCaller | null {
    const found = this.#tokens.get(this.#secrets.nameIn(text) ?? "");
    if (!this.#secrets.is(text, found?.token) || found === undefined) return null;
    const { client, token } = found;
    const now = this.#clock.now();
    if (now >= token.expiresAt || !token.resources.includes(resource)) return null;
    token.usedAt = now;
    this.#isBehind = true;
    if (now - this.#writtenAt >= oauthLimits.usedWriteMs) this.flush();
    const { maxModes, access } = token.grant;
    return { kind: "client", clientId: client.id, maxModes, access };
  }

  /** Programs that have a token that is good now, the latest first. */
  list(): ClientView[] {
    const now = this.#clock.now();
    return [...this.#clients.values()].flatMap(({ id, name, program, tokens }): ClientView[] => {
      const good = tokens.filter(({ expiresAt }) => now < expiresAt);
      if (good.length === 0 || name === null) return [];
      const views = good.map(({ issuedAt, expiresAt, usedAt, resources, grant: { maxModes, access } }) => ({
        ...{ maxModes, access, resources, issuedAt, expiresAt, usedAt },
      }));
      return [{ id, name, program, tokens: views.reverse() }];
    });
  }

  /** Takes back all that a program was given. It stays registered, and may be let in again by another code. */
  revoke(id: ClientId): boolean {
    const client = this.#clients.get(id);
    if (client === undefined || client.tokens.length === 0) return false;
    this.#takeBack(client, () => {
      client.tokens = [];
    });
    return true;
  }

  /** Takes back one token, by its text; a program may do so with its own. */
  revokeToken(text: string): void {
    const found = this.#tokens.get(this.#secrets.nameIn(text) ?? "");
    if (this.#secrets.is(text, found?.token) && found !== undefined) this.revokeNamed(found.client.id, found.token.name);
  }

  /** The same, by the name under which it was issued. */
  revokeNamed(id: ClientId, name: string): void {
    const client = this.#clients.get(id);
    if (client === undefined) return;
    this.#takeBack(client, () => {
      client.tokens = client.tokens.filter((token) => token.name !== name);
    });
  }

  /** Calls back after something was taken back. */
  onRevoked(listener: () => void): () => void {
    this.#onRevoked.add(listener);
    return () => this.#onRevoked.delete(listener);
  }

  /** Writes when which token was used last, where the file is behind. It is only told to people, so it may also fail. */
  flush(): void {
    if (!this.#isBehind) return;
    this.#writtenAt = this.#clock.now();
    try {
      this.#write();
    } catch {
      // The next change says what is wrong with the disk.
    }
  }

  /** What is taken back is so at once, also where it cannot be written; that it would be back after a restart is thrown. */
  #takeBack(client: StoredClient, change: () => void): void {
    const { id, name, program, tokens } = client;
    change();
    this.#tell({ clientId: id, name, program, tokens: tokens.length - client.tokens.length }, "program revoked");
    this.#index();
    for (const listener of this.#onRevoked) listener();
    this.#makeRoom();
    this.#write();
  }

  /** Changes what is there and writes it; what cannot be written is not so in memory either. */
  #change(change: () => void): void {
    const before = [...this.#clients.values()].map((client) => ({ ...client, tokens: [...client.tokens] }));
    change();
    this.#makeRoom();
    try {
      this.#write();
    } catch (error) {
      this.#clients.clear();
      for (const client of before) this.#clients.set(client.id, client);
      throw error;
    } finally {
      this.#index();
    }
  }

  #write(): void {
    writeClients(this.#dir, [...this.#clients.values()]);
    this.#writtenAt = this.#clock.now();
    this.#isBehind = false;
  }

  /** Tokens that have run out go, then the oldest of those that nobody let in, then those that were let in longest ago. */
  #makeRoom(): void {
    const now = this.#clock.now();
    for (const client of this.#clients.values()) {
      client.tokens = client.tokens.filter(({ expiresAt }) => now < expiresAt);
      if (client.tokens.length === 0) client.name = null;
    }
    const all = [...this.#clients.values()];
    const strangers = all.filter(({ tokens }) => tokens.length === 0).sort((a, b) => a.registeredAt - b.registeredAt);
    const known = all.filter(({ tokens }) => tokens.length > 0).sort((a, b) => lastIssued(a) - lastIssued(b));
    const gone = [
      ...strangers.slice(0, Math.max(0, strangers.length - oauthLimits.strangers)),
      ...known.slice(0, Math.max(0, known.length - oauthLimits.clients)),
    ];
    for (const { id } of gone) this.#clients.delete(id);
  }

  #index(): void {
    this.#tokens.clear();
    for (const client of this.#clients.values()) for (const token of client.tokens) this.#tokens.set(token.name, { client, token });
  }
}

const lastIssued = ({ tokens }: StoredClient): number => tokens.at(-1)?.issuedAt ?? 0;
