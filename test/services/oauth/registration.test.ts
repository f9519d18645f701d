import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { registrationRate } from "../../../services/oauth/limits.ts";
import { byHand, redirectUri } from "./rig.ts";

test("a program that asks for more gets what there is: no secret, one grant, one kind of answer", async () => {
  const by = await byHand();
  const { status, body } = await by.register({
    token_endpoint_auth_method: "client_secret_post",
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    scope: "reads offline_access",
    unknown: { a: 1 },
  });
  expect(status).toBe(201);
  expect(body).toEqual({
    client_id: expect.stringMatching(/^client:/),
    client_id_issued_at: Math.floor(by.clock.now() / 1_000),
    client_name: "By hand",
    redirect_uris: [redirectUri],
    grant_types: ["authorization_code"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  });
});

test.each([
  ["no address", { redirect_uris: [] }, "invalid_redirect_uri"],
  ["no list of addresses", { redirect_uris: undefined }, "invalid_redirect_uri"],
  ["plain http elsewhere", { redirect_uris: ["http://host.example/cb"] }, "invalid_redirect_uri"],
  ["a script", { redirect_uris: ["javascript:alert(1)"] }, "invalid_redirect_uri"],
  ["one wrong among right ones", { redirect_uris: [redirectUri, "data:text/html,x"] }, "invalid_redirect_uri"],
  ["too many", { redirect_uris: Array(11).fill(redirectUri) }, "invalid_redirect_uri"],
  ["one too long", { redirect_uris: [`https://h.example/${"x".repeat(2_000)}`] }, "invalid_redirect_uri"],
  ["another grant alone", { grant_types: ["client_credentials"] }, "invalid_client_metadata"],
  ["another answer alone", { response_types: ["token"] }, "invalid_client_metadata"],
  ["a name that is no text", { client_name: { a: 1 } }, "invalid_client_metadata"],
])("a registration with %s is refused", async (_, metadata, error) => {
  const by = await byHand();
  const { status, body } = await by.register(metadata);
  expect([status, body.error]).toEqual([400, error]);
});

test("what is no JSON, or too large, is refused in OAuth's own words", async () => {
  const by = await byHand();
  const post = async (body: string) => {
    const answer = await fetch(`${by.url}/oauth/register`, { method: "POST", headers: { "content-type": "application/json" }, body });
    return [answer.status, ((await answer.json()) as { error: string }).error];
  };
  expect(await post("{")).toEqual([400, "invalid_client_metadata"]);
  expect(await post("null")).toEqual([400, "invalid_client_metadata"]);
  expect(await post(JSON.stringify({ redirect_uris: [redirectUri], client_name: "x".repeat(70_000) }))).toEqual([413, "invalid_request"]);
});

test("registrations come at a bounded rate, with a time after which to come again", async () => {
  const by = await byHand();
  // One was made already.
  for (let n = 1; n < registrationRate.perAddress; n += 1) expect((await by.register()).status).toBe(201);
  const full = await by.register();
  expect([full.status, full.body.error, full.headers.get("retry-after")]).toEqual([429, "temporarily_unavailable", "600"]);
  await by.clock.advance(registrationRate.windowMs);
  expect((await by.register()).status).toBe(201);
});

test("a program's name is kept on one line, short, and without marks that turn the text around it", async () => {
  const by = await byHand();
  const shown = async (client_name: string) => (await by.register({ client_name })).body.client_name;
  expect(await shown("  Nice\n\tprogram\u0000 ")).toBe("Nice program");
  expect(await shown("\u202Egnp.exe\u2066")).toBe("gnp.exe");
  expect(await shown("x".repeat(500))).toBe("x".repeat(100));
  expect(await shown("\ud800")).toBe("\ufffd");
  expect(await shown("\u200b")).toBe("a program without a name");
  expect(readFileSync(join(by.env.dir, "clients.json"), "utf8")).not.toContain("\u202e");
});

test("what programs read first names this environment by the address that they called", async () => {
  const by = await byHand();
  const read = async (origin: string, path: string) => (await (await fetch(`${origin}${path}`)).json()) as Record<string, unknown>;
  const local = by.url.replace("127.0.0.1", "localhost");
  for (const origin of [by.url, local]) {
    const server = await read(origin, "/.well-known/oauth-authorization-server");
    expect(server).toMatchObject({
      issuer: origin,
      token_endpoint: `${origin}/oauth/token`,
      code_challenge_methods_supported: ["S256"],
      authorization_response_iss_parameter_supported: true,
      grant_types_supported: ["authorization_code"],
    });
    const tools = await read(origin, "/.well-known/oauth-protected-resource/mcp");
    expect(tools).toMatchObject({ resource: `${origin}/mcp`, authorization_servers: [origin] });
    expect((await read(origin, "/.well-known/oauth-protected-resource/v1")).resource).toBe(`${origin}/v1`);
    expect((await read(origin, "/.well-known/oauth-protected-resource")).resource).toBe(origin);
  }
});
