import type { ClientResource } from "../../schemas/client.ts";
import type { StoredClient } from "./clients-file.ts";
import { oauthLimits } from "./limits.ts";
import { answerAt, isRegistered } from "./redirect-uri.ts";
import { resourcesNamed } from "./resource.ts";
import { parseScope, type Wish } from "./scope.ts";

/** What a program asks a person for, checked. */
export type AuthorizationRequest = {
  client: StoredClient;
  redirectUri: string;
  state: string | undefined;
  challenge: string;
  wish: Wish;
  resources: ClientResource[];
};

export type ReadRequest =
  | { kind: "asked"; request: AuthorizationRequest }
  /** The program is told, at the address that is known to be its own. */
  | { kind: "back"; to: string }
  /** Nobody may be sent anywhere: the person is told. */
  | { kind: "nowhere"; why: string };

/** Reads the query of an authorization request. `origin` is the address by which this environment was called. */
export function readRequest(query: URLSearchParams, origin: string, clientOf: (id: string) => StoredClient | null): ReadRequest {
  const one = (name: string) => (query.getAll(name).length === 1 ? (query.get(name) ?? undefined) : undefined);
  const client = clientOf(one("client_id") ?? "");
  if (client === null)
    return { kind: "nowhere", why: "This environment does not know the program that sent you here. Let it connect again from the start." };
  const redirectUri = query.has("redirect_uri") ? one("redirect_uri") : onlyOne(client.redirectUris);
  if (redirectUri === undefined || redirectUri.length > oauthLimits.redirectUriChars || !isRegistered(redirectUri, client.redirectUris))
    return { kind: "nowhere", why: "The program that sent you here wants the answer at an address that it has not registered." };

  const state = one("state");
  const back = (error: string, description: string): ReadRequest => ({
    kind: "back",
    to: answerAt(redirectUri, { error, error_description: description, state, iss: origin }),
  });
  const twice = [...new Set(query.keys())].find((name) => name !== "resource" && query.getAll(name).length > 1);
  if (twice !== undefined) return back("invalid_request", "a parameter is there twice");
  if (state !== undefined && state.length > oauthLimits.stateChars) return back("invalid_request", "state is too long");
  if (one("response_type") !== "code") return back("unsupported_response_type", "response_type must be code");
  if (query.has("response_mode") && one("response_mode") !== "query") return back("invalid_request", "response_mode must be query");
  if (one("code_challenge_method") !== "S256") return back("invalid_request", "code_challenge_method must be S256");
  const challenge = one("code_challenge") ?? "";
  if (!/^[A-Za-z0-9_-]{43}$/.test(challenge)) return back("invalid_request", "code_challenge must be the base64url of a SHA-256");
  const wish = parseScope(one("scope"));
  if (wish === null) return back("invalid_scope", "scope holds nothing that this environment knows");
  const resources = resourcesNamed(query.getAll("resource"), origin);
  if (resources === null) return back("invalid_target", "resource names nothing of this environment");
  return { kind: "asked", request: { client, redirectUri, state, challenge, wish, resources } };
}

const onlyOne = (all: readonly string[]): string | undefined => (all.length === 1 ? all[0] : undefined);
