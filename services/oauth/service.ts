import { AccessKind } from "../../schemas/access.ts";
import type { ClientGrant, ClientResource, ClientView, PairingRequest } from "../../schemas/client.ts";
import type { Caller } from "../../schemas/command.ts";
import type { ClientId, EnvironmentId } from "../../schemas/ids.ts";
import { defaultModes } from "../../schemas/modes.ts";
import type { Clock } from "../runtime/ports/clock.ts";
import { AuthorizationCodes } from "./authorization-codes.ts";
import { Clients } from "./clients.ts";
import { guessRate, registrationRate, tokenRate } from "./limits.ts";
import { PairingCodes } from "./pairing-codes.ts";
import { RateLimit } from "./rate-limit.ts";

export type OAuthOptions = {
  /** The environment's folder, where `clients.json` is. */
  dir: string;
  environmentId: EnvironmentId;
  /** What the page calls the environment. */
  environmentName: string;
  clock: Clock;
  /** Told when a program is let in, and when that is taken back. */
  tell?: ((facts: object, text: string) => void) | undefined;
};

/** What a program may do when nobody says otherwise: everything but changing what the environment itself has. */
const usualAccess: readonly AccessKind[] = AccessKind.options.filter((kind) => kind !== "writes_environment");

/** Lets programs in: who they are, the codes by which a person does it, and the tokens that come of it (decision 0104). */
export class OAuth {
  readonly environmentName: string;
  readonly clients: Clients;
  readonly pairing: PairingCodes;
  readonly codes: AuthorizationCodes;
  readonly guesses: RateLimit;
  readonly registrations: RateLimit;
  readonly tokenRequests: RateLimit;

  /** Throws CommandRefused when `clients.json` cannot be used. */
  constructor({ dir, environmentId, environmentName, clock, tell }: OAuthOptions) {
    this.environmentName = environmentName;
    this.clients = new Clients(dir, environmentId, clock, tell);
    this.pairing = new PairingCodes(environmentId, clock);
    this.codes = new AuthorizationCodes(environmentId, clock);
    this.guesses = new RateLimit(clock, guessRate);
    this.registrations = new RateLimit(clock, registrationRate);
    this.tokenRequests = new RateLimit(clock, tokenRate);
  }

  /** A code by which one program is let in. It is shown here and never again. */
  pair(request: PairingRequest): { code: string; expiresAt: number; grant: ClientGrant } {
    const { name, runtimeMode = defaultModes.runtimeMode, interactionMode = defaultModes.interactionMode, access = usualAccess } = request;
    const grant: ClientGrant = {
      ...(name !== undefined && { name }),
      maxModes: { runtimeMode, interactionMode },
      access: AccessKind.options.filter((kind) => access.includes(kind)),
    };
    return { ...this.pairing.make(grant), grant };
  }

  /** Who has a token, for the tools or the API; null when nobody vouches for it. */
  callerOf(token: string, resource: ClientResource): Extract<Caller, { kind: "client" }> | null {
    return this.clients.callerOf(token, resource);
  }

  list(): ClientView[] {
    return this.clients.list();
  }

  /** False when it has nothing that could be taken back. */
  revoke(id: ClientId): boolean {
    return this.clients.revoke(id);
  }
}
