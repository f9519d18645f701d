import { Hono } from "hono";
import type { DoorEnv } from "../bindings.ts";
import { oauthError, tooOften } from "../errors.ts";
import { formOf } from "../form.ts";
import type { OAuth } from "../service.ts";

/** `POST /oauth/revoke` (RFC 7009): a program gives its token back. Whoever has a token may; one that is unknown is no error. */
export function revocationRoutes(oauth: OAuth): Hono<DoorEnv> {
  return new Hono<DoorEnv>().post("/oauth/revoke", async (c) => {
    const token = (await formOf(c))?.get("token");
    const wait = oauth.tokenRequests.take(c.env.address);
    if (wait > 0) return tooOften(c, wait);
    if (token === null || token === undefined) return oauthError(c, 400, "invalid_request", "send the field token of a form");
    oauth.clients.revokeToken(token);
    return c.body(null, 200, { "cache-control": "no-store" });
  });
}
