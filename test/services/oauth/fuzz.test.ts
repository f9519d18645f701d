import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { createOAuthApp } from "../../../services/oauth/app.ts";
import { OAuth } from "../../../services/oauth/service.ts";
import { MemoryClock } from "../../../services/runtime/memory-clock.ts";
import { systemIdentifiers } from "../../../services/runtime/system-identifiers.ts";
import { temporaryFolder } from "../../support/environments.ts";

const origin = "http://127.0.0.1:4321";
const redirectUri = "http://127.0.0.1:7777/cb";
const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 60 }),
  fc.string({ maxLength: 60 }),
  fc.constantFrom("", "null", "__proto__", "%00", "\u202e"),
);

/** Now and then what belongs there, else anything. */
const mostly = (...right: string[]) =>
  fc.option(fc.oneof({ weight: 6, arbitrary: fc.constantFrom(...right) }, { weight: 1, arbitrary: text }), { nil: undefined });

function world() {
  const dir = temporaryFolder();
  const clock = new MemoryClock();
  const oauth = new OAuth({ dir, environmentId: systemIdentifiers.next("env"), environmentName: "<b>box</b>", clock });
  const errors: Error[] = [];
  const app = createOAuthApp(oauth, (error) => void errors.push(error));
  const client = oauth.clients.register({ program: "p", redirectUris: [redirectUri] });
  let from = 0;
  return {
    oauth,
    client,
    errors,
    kept: () => readFileSync(join(dir, "clients.json"), "utf8"),
    async ask(path: string, init: RequestInit = {}) {
      // Each from an address of its own, in a window of its own: what is bounded is for other tests.
      await clock.advance(11 * 60_000);
      from += 1;
      const answer = await app.fetch(new Request(`${origin}${path}`, init), { origin, address: `address-${from}` });
      return {
        status: answer.status,
        text: await answer.text(),
        location: answer.headers.get("location"),
        type: answer.headers.get("content-type"),
      };
    },
  };
}

const form = (fields: Record<string, string | undefined>) =>
  new URLSearchParams(Object.entries(fields).flatMap(([name, value]): [string, string][] => (value === undefined ? [] : [[name, value]])));

test("whatever is registered, it is registered or refused, and the file of clients stays one that can be read", async () => {
  const { ask, errors, kept } = world();
  const anything = fc.oneof(
    fc.jsonValue(),
    fc.record({
      redirect_uris: fc.oneof(fc.jsonValue(), fc.array(mostly(redirectUri, "https://h.example/cb"), { maxLength: 3 })),
      client_name: fc.oneof(text, fc.jsonValue()),
    }),
  );
  await fc.assert(
    fc.asyncProperty(anything, async (body) => {
      const answer = await ask("/oauth/register", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body) ?? "",
      });
      expect([201, 400, 413]).toContain(answer.status);
      expect(JSON.parse(answer.text)).toHaveProperty(answer.status === 201 ? "client_id" : "error");
      expect(JSON.parse(kept()).version).toBe(1);
    }),
    { numRuns: 150 },
  );
  expect(errors).toEqual([]);
});

test("whatever is asked on the page, it is a page, or a way back to an address that was registered, and nothing of it is run", async () => {
  const { ask, errors, client, oauth } = world();
  const query = fc.record({
    client_id: mostly(client.id),
    redirect_uri: mostly(redirectUri, "http://127.0.0.1:1/cb"),
    response_type: mostly("code"),
    code_challenge_method: mostly("S256"),
    code_challenge: mostly("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"),
    state: mostly("s", '"><script>alert(1)</script>'),
    scope: mostly("reads", "reads runtime:auto", "nothing"),
    resource: mostly(`${origin}/mcp`, origin),
  });
  const sent = fc.record({ decision: mostly("look", "allow", "deny"), code: mostly("code", "AAAAA-AAAAA") });
  await fc.assert(
    fc.asyncProperty(query, sent, fc.boolean(), async (asked, { decision, code }, posts) => {
      const path = `/oauth/authorize?${form(asked)}`;
      const typed = code === "code" ? oauth.pair({ access: ["reads"] }).code : code;
      const init = { method: "POST", headers: { origin }, body: form({ decision, code: typed }) };
      const answer = await ask(path, posts ? init : {});
      expect([200, 303, 400, 403]).toContain(answer.status);
      if (answer.status === 303) {
        const to = new URL(answer.location ?? "");
        expect([to.hostname, to.pathname, to.searchParams.get("iss")]).toEqual(["127.0.0.1", "/cb", origin]);
        expect(to.searchParams.has("code") || to.searchParams.has("error")).toBe(true);
        if (to.searchParams.has("code")) expect([posts, decision, code]).toEqual([true, "allow", "code"]);
      } else expect(answer.type).toContain("text/html");
      expect(answer.text).not.toContain("<script");
      expect(answer.text).not.toContain("<b>box");
    }),
    { numRuns: 300 },
  );
  expect(errors).toEqual([]);
});

test("whatever comes for a token or to give one back, no token is given, and no answer tells of the inside", async () => {
  const { ask, errors, client } = world();
  const token = fc.record({
    grant_type: mostly("authorization_code", "refresh_token"),
    code: mostly("rwa_a.b"),
    client_id: mostly(client.id),
    redirect_uri: mostly(redirectUri),
    code_verifier: mostly("x".repeat(43)),
    resource: mostly(origin),
    token: mostly("rwc_a.b"),
  });
  const types = fc.constantFrom("application/x-www-form-urlencoded", "application/json", "text/plain", "");
  await fc.assert(
    fc.asyncProperty(token, fc.constantFrom("/oauth/token", "/oauth/revoke"), types, async (fields, path, type) => {
      const answer = await ask(path, {
        method: "POST",
        headers: type === "" ? {} : { "content-type": type },
        body: form(fields).toString(),
      });
      expect(path === "/oauth/token" ? [400, 401] : [200, 400]).toContain(answer.status);
      expect(answer.text).not.toMatch(/access_token|\.ts|at \w+ \(/);
    }),
    { numRuns: 200 },
  );
  expect(errors).toEqual([]);
});
