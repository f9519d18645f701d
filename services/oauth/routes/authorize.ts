import { type Context, Hono } from "hono";
import { type AuthorizationRequest, readRequest } from "../authorization-request.ts";
import type { DoorEnv } from "../bindings.ts";
import { formOf } from "../form.ts";
import { askPage, grantPage, refusedPage, waitPage } from "../page/pages.ts";
import { answerAt } from "../redirect-uri.ts";
import { narrowedBy } from "../scope.ts";
import type { OAuth } from "../service.ts";

const path = "/oauth/authorize";

/**
 * `/oauth/authorize`: the page on which a person types a code and decides. The request stands in its address, and is
 * checked anew for each step; nothing is kept for a page that is open.
 */
export function authorizationRoutes(oauth: OAuth): Hono<DoorEnv> {
  const read = (c: Context<DoorEnv>) => readRequest(new URL(c.req.url).searchParams, c.env.origin, (id) => oauth.clients.get(id));
  const { environmentName } = oauth;

  return new Hono<DoorEnv>()
    .get(path, (c) => {
      const asked = read(c);
      if (asked.kind === "nowhere") return refusedPage(c, asked.why);
      if (asked.kind === "back") return sentBack(c, asked.to);
      return askPage(c, { request: asked.request, environmentName });
    })
    .post(path, async (c) => {
      if (!isOwnForm(c)) return refusedPage(c, "This form was not sent by this environment's own page.", 403);
      const asked = read(c);
      if (asked.kind === "nowhere") return refusedPage(c, asked.why);
      if (asked.kind === "back") return sentBack(c, asked.to);
      const { request } = asked;
      const form = await formOf(c);
      const decision = form?.get("decision");
      if (decision === "deny") return answered(c, request, { error: "access_denied", error_description: "the person said no" });
      if (form === null || (decision !== "look" && decision !== "allow")) return refusedPage(c, "The form came without a decision.");

      const wait = oauth.guesses.waitMs(c.env.address);
      if (wait > 0) return waitPage(c, wait);
      const code = form.get("code") ?? "";
      const grant = oauth.pairing.look(code);
      if (grant === null) {
        oauth.guesses.count(c.env.address);
        return askPage(c, { request, environmentName }, "This is no code that is good now. Codes are good for ten minutes, and once.");
      }
      const given = narrowedBy(grant, request.wish);
      if (given.access.length === 0)
        return askPage(
          c,
          { request, environmentName },
          "This code gives nothing of what the program asks for. Make another with --access.",
        );
      if (decision === "look") return grantPage(c, { request, environmentName }, given, code);
      // Nothing waits between the look and this: whoever comes second finds no code.
      oauth.pairing.use(code);
      const { client, redirectUri, challenge, resources } = request;
      const approved = { ...(grant.name !== undefined && { name: grant.name }), ...given };
      return answered(c, request, { code: oauth.codes.make({ clientId: client.id, redirectUri, challenge, resources, grant: approved }) });
    });
}

function answered(c: Context<DoorEnv>, { redirectUri, state }: AuthorizationRequest, answer: Record<string, string>): Response {
  return sentBack(c, answerAt(redirectUri, { ...answer, state, iss: c.env.origin }));
}

/** 303, so that a browser fetches the next address and does not post the code there. */
function sentBack(c: Context<DoorEnv>, to: string): Response {
  return c.body(null, 303, { location: to, "cache-control": "no-store", "referrer-policy": "no-referrer" });
}

/** A browser says from which page a form comes; one of another site would say so, or "null". */
function isOwnForm(c: Context<DoorEnv>): boolean {
  const from = c.req.header("origin") ?? "";
  return URL.canParse(from) && new URL(from).host === new URL(c.env.origin).host;
}
