import { Hono } from "hono";
import { ClientResource } from "../../../schemas/client.ts";
import type { DoorEnv } from "../bindings.ts";
import { resourceUrl } from "../resource.ts";
import { accessScopes, allScopes } from "../scope.ts";

const authorizationServer = "/.well-known/oauth-authorization-server";
const protectedResource = "/.well-known/oauth-protected-resource";

/** Where a program that nobody vouches for reads how to be let in; for the `WWW-Authenticate` of a 401 (RFC 9728). */
export const resourceMetadataUrl = (origin: string, resource: ClientResource) => `${origin}${protectedResource}/${resource}`;

/** What programs read first. Every address in it is below the one by which they called. */
export function metadataRoutes(): Hono<DoorEnv> {
  const routes = new Hono<DoorEnv>()
    .get(authorizationServer, (c) => c.json(serverMetadata(c.env.origin)))
    .get(protectedResource, (c) => c.json(resourceMetadata(c.env.origin, c.env.origin)));
  for (const resource of ClientResource.options)
    routes.get(`${protectedResource}/${resource}`, (c) => c.json(resourceMetadata(c.env.origin, resourceUrl(c.env.origin, resource))));
  return routes;
}

const serverMetadata = (origin: string) => ({
  issuer: origin,
  authorization_endpoint: `${origin}/oauth/authorize`,
  token_endpoint: `${origin}/oauth/token`,
  registration_endpoint: `${origin}/oauth/register`,
  revocation_endpoint: `${origin}/oauth/revoke`,
  scopes_supported: allScopes,
  response_types_supported: ["code"],
  response_modes_supported: ["query"],
  grant_types_supported: ["authorization_code"],
  token_endpoint_auth_methods_supported: ["none"],
  revocation_endpoint_auth_methods_supported: ["none"],
  code_challenge_methods_supported: ["S256"],
  authorization_response_iss_parameter_supported: true,
});

const resourceMetadata = (origin: string, resource: string) => ({
  resource,
  authorization_servers: [origin],
  // Only kinds of access: a program that asks for all that it reads here is not to be widened or bound by a mode.
  scopes_supported: accessScopes,
  bearer_methods_supported: ["header"],
  resource_name: "ropewalk",
});
