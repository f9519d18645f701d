import { Hono } from "hono";
import { provesChallenge } from "../authorization-codes.ts";
import type { DoorEnv } from "../bindings.ts";
import { oauthError, tooOften } from "../errors.ts";
import { formOf } from "../form.ts";
import { resourcesNamed } from "../resource.ts";
import { scopeOf } from "../scope.ts";
import type { OAuth } from "../service.ts";

/** `POST /oauth/token`: a code for a token. A code is used by the first who comes with it, whether all else is right or not. */
export function tokenRoutes(oauth: OAuth): Hono<DoorEnv> {
  return new Hono<DoorEnv>().post("/oauth/token", async (c) => {
    const form = await formOf(c, ["resource"]);
    // Counted once it is all there: what only drips is the listener's to end, and holds up nobody else from its address.
    const wait = oauth.tokenRequests.take(c.env.address);
    if (wait > 0) return tooOften(c, wait);
    if (form === null) return oauthError(c, 400, "invalid_request", "send the fields of a form, each once");
    if (form.get("grant_type") !== "authorization_code")
      return oauthError(c, 400, "unsupported_grant_type", "grant_type must be authorization_code");
    const client = oauth.clients.get(form.get("client_id") ?? "");
    if (client === null) return oauthError(c, 401, "invalid_client", "this environment does not know the program; register anew");

    const code = oauth.codes.redeem(form.get("code") ?? "");
    // Two have the code: whoever was first may be the wrong one.
    if (!code.ok && code.replayed !== null) oauth.clients.revokeNamed(code.replayed.clientId, code.replayed.tokenName);
    if (!code.ok) return oauthError(c, 400, "invalid_grant", "the code is unknown, used, or too old");
    const { approval } = code;
    const redirectUri = form.get("redirect_uri");
    if (approval.clientId !== client.id) return oauthError(c, 400, "invalid_grant", "the code is for another program");
    if (redirectUri !== null && redirectUri !== approval.redirectUri)
      return oauthError(c, 400, "invalid_grant", "redirect_uri is another than the code was sent to");
    if (!provesChallenge(form.get("code_verifier") ?? "", approval.challenge))
      return oauthError(c, 400, "invalid_grant", "code_verifier is missing or wrong");
    const named = form.has("resource") ? resourcesNamed(form.getAll("resource"), c.env.origin) : approval.resources;
    const resources = named?.filter((one) => approval.resources.includes(one)) ?? [];
    if (resources.length === 0) return oauthError(c, 400, "invalid_target", "resource names nothing that was approved");

    const issued = oauth.clients.issue(client.id, approval.grant, resources);
    if (issued === null) return oauthError(c, 401, "invalid_client", "this environment does not know the program any more");
    code.issued(issued.name);
    c.header("cache-control", "no-store");
    return c.json({
      access_token: issued.token,
      token_type: "Bearer",
      expires_in: Math.floor(issued.lifetimeMs / 1_000),
      scope: scopeOf(approval.grant),
    });
  });
}
