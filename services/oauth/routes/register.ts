import { type Context, Hono } from "hono";
import { z } from "zod";
import type { DoorEnv } from "../bindings.ts";
import { oauthError, tooOften } from "../errors.ts";
import { oauthLimits } from "../limits.ts";
import { programName } from "../program-name.ts";
import { whyNotRedirect } from "../redirect-uri.ts";
import type { OAuth } from "../service.ts";

const { redirectUris, redirectUriChars } = oauthLimits;

/** What is read of a registration (RFC 7591); the rest is passed over, as that asks. */
const Metadata = z.object({
  redirect_uris: z.array(z.string().max(redirectUriChars)).min(1).max(redirectUris),
  client_name: z.string().optional(),
  response_types: z.array(z.string()).optional(),
  grant_types: z.array(z.string()).optional(),
});

/** `POST /oauth/register`: a program says who it is. Nobody has checked what it says, and it may do nothing by it. */
export function registrationRoutes(oauth: OAuth): Hono<DoorEnv> {
  return new Hono<DoorEnv>().post("/oauth/register", async (c) => {
    const parsed = Metadata.safeParse(await jsonOf(c));
    const wait = oauth.registrations.take(c.env.address);
    if (wait > 0) return tooOften(c, wait);
    if (!parsed.success) {
      const isAboutRedirects = parsed.error.issues.some(({ path }) => path[0] === "redirect_uris");
      const error = isAboutRedirects ? "invalid_redirect_uri" : "invalid_client_metadata";
      return oauthError(c, 400, error, z.prettifyError(parsed.error).slice(0, 500));
    }
    const { redirect_uris, client_name, response_types, grant_types } = parsed.data;
    const wrong = redirect_uris.map(whyNotRedirect).find((why) => why !== null);
    if (wrong !== undefined) return oauthError(c, 400, "invalid_redirect_uri", wrong);
    if (response_types?.includes("code") === false || grant_types?.includes("authorization_code") === false)
      return oauthError(c, 400, "invalid_client_metadata", "this environment gives authorization codes, and nothing else");
    const client = oauth.clients.register({ program: programName(client_name), redirectUris: redirect_uris });
    c.header("cache-control", "no-store");
    // Whatever else it asked for, this is what it gets: no secret, and one kind of grant.
    return c.json(
      {
        client_id: client.id,
        client_id_issued_at: Math.floor(client.registeredAt / 1_000),
        client_name: client.program,
        redirect_uris: client.redirectUris,
        grant_types: ["authorization_code"],
        response_types: ["code"],
        token_endpoint_auth_method: "none",
      },
      201,
    );
  });
}

/** Undefined for what is no JSON; the schema says so then. */
async function jsonOf(c: Context): Promise<unknown> {
  try {
    return await c.req.json();
  } catch {
    return undefined;
  }
}
