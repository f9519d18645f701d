import { expect, test } from "vitest";
import { openDoor } from "../../support/door.ts";
import { byHand, redirectUri } from "./rig.ts";

const sentBack = (location: string | null) => {
  const url = new URL(location ?? "");
  return { to: `${url.origin}${url.pathname}`, ...Object.fromEntries(url.searchParams) };
};

test("an approved code becomes a token that says what was given, and is good where it was asked for", async () => {
  const by = await byHand();
  const { status, headers, body } = await by.token(await by.approved({ access: ["reads", "writes"], runtimeMode: "auto" }));
  expect(status).toBe(200);
  expect(headers.get("cache-control")).toBe("no-store");
  expect(body).toEqual({
    access_token: expect.stringMatching(/^rwc_[\w-]{12}\.[\w-]{43}$/),
    token_type: "Bearer",
    expires_in: 30 * 86_400,
    scope: "reads writes runtime:auto interaction:default",
  });
  expect(await by.reads(body.access_token)).toBe(200);
});

test("the answer goes back with the state and with who gave it", async () => {
  const by = await byHand();
  const { code } = await by.pair();
  const done = await (await (await by.page()).press("Continue", { code })).press("Allow");
  expect(done.status).toBe(303);
  expect(done.headers.get("cache-control")).toBe("no-store");
  expect(sentBack(done.location)).toEqual({ to: redirectUri, code: expect.stringMatching(/^rwa_/), state: "the state", iss: by.url });
});

test("without a proof that it was asked for by the same program, or with another, no token is given", async () => {
  const by = await byHand();
  for (const code_verifier of [undefined, "", "x".repeat(43), "x".repeat(129), "short"]) {
    const answer = await by.token(await by.approved(), { code_verifier });
    expect([answer.status, answer.body.error]).toEqual([400, "invalid_grant"]);
  }
});

test("a code that was tried with a wrong proof is used up by that", async () => {
  const by = await byHand();
  const code = await by.approved();
  await by.token(code, { code_verifier: "x".repeat(43) });
  expect((await by.token(code)).body.error).toBe("invalid_grant");
});

test("a request without a challenge, or with one that is plain, is sent back with an error and shows no page", async () => {
  const by = await byHand();
  const wrong: [Record<string, string | undefined>, string][] = [
    [{ code_challenge: undefined }, "invalid_request"],
    [{ code_challenge_method: undefined }, "invalid_request"],
    [{ code_challenge_method: "plain" }, "invalid_request"],
    [{ code_challenge: "too-short" }, "invalid_request"],
    [{ response_type: "token" }, "unsupported_response_type"],
    [{ response_type: undefined }, "unsupported_response_type"],
    [{ response_mode: "fragment" }, "invalid_request"],
    [{ scope: "everything" }, "invalid_scope"],
    [{ resource: "https://other.example/mcp" }, "invalid_target"],
    [{ state: "x".repeat(2_001) }, "invalid_request"],
  ];
  for (const [changes, error] of wrong) {
    const page = await by.page(changes);
    expect([changes, page.status]).toEqual([changes, 303]);
    expect(sentBack(page.location)).toMatchObject({ to: redirectUri, error, iss: by.url });
  }
  expect(
    sentBack(
      (
        await by.page({}, [
          ["scope", "reads"],
          ["scope", "writes"],
        ])
      ).location,
    ),
  ).toMatchObject({ error: "invalid_request" });
});

test("nobody is sent anywhere for a program that is not known, or to an address that it has not registered", async () => {
  const by = await byHand();
  const wrong = [
    { client_id: "client:01a22d31-9dc2-7749-a2be-2bb293e1a298" },
    { client_id: undefined },
    { redirect_uri: "http://127.0.0.1:7777/other" },
    { redirect_uri: "https://evil.example/callback" },
    { redirect_uri: "http://127.0.0.1.evil.example:7777/callback" },
    { redirect_uri: "javascript:alert(1)" },
    { redirect_uri: "" },
  ];
  for (const changes of wrong) {
    const page = await by.page(changes);
    expect([changes, page.status, page.location]).toEqual([changes, 400, null]);
    expect(page.text).not.toContain("<form");
  }
});

test("on this machine a program may listen on another port than it registered, and its token asks for the one that it used", async () => {
  const by = await byHand();
  const changes = { redirect_uri: "http://127.0.0.1:9999/callback" };
  expect((await by.token(await by.approved({}, changes))).body.error).toBe("invalid_grant");
  expect((await by.token(await by.approved({}, changes), changes)).status).toBe(200);
});

test("a code is good once; when it comes a second time, what came of it is taken back", async () => {
  const by = await byHand();
  const code = await by.approved();
  const first = await by.token(code);
  expect(await by.reads(first.body.access_token)).toBe(200);
  expect((await by.token(code)).body.error).toBe("invalid_grant");
  expect(await by.reads(first.body.access_token)).toBe(401);
});

test("a code is good for a minute, a token for thirty days", async () => {
  const by = await byHand();
  const late = await by.approved();
  await by.clock.advance(60_000);
  expect((await by.token(late)).body.error).toBe("invalid_grant");
  const { body } = await by.token(await by.approved());
  await by.clock.advance(30 * 86_400_000 - 1);
  expect(await by.reads(body.access_token)).toBe(200);
  await by.clock.advance(1);
  expect(await by.reads(body.access_token)).toBe(401);
});

test("a code is for the program that asked, whoever else brings it", async () => {
  const by = await byHand();
  const other = String((await by.register()).body.client_id);
  const code = await by.approved();
  expect((await by.token(code, { client_id: other })).body.error).toBe("invalid_grant");
  expect((await by.token(await by.approved(), { client_id: undefined })).body.error).toBe("invalid_client");
  expect((await by.token(await by.approved(), { grant_type: "refresh_token" })).body.error).toBe("unsupported_grant_type");
});

test("a token that was asked for one resource is good for it and not for the other", async () => {
  const by = await byHand();
  const forTools = (await by.token(await by.approved({}, { resource: `${by.url}/mcp` }))).body.access_token;
  expect(await by.reads(forTools)).toBe(401);
  expect(await by.reads(forTools, "/mcp")).not.toBe(401);
  const forApi = (await by.token(await by.approved(), { resource: `${by.url}/v1` })).body.access_token;
  expect(await by.reads(forApi)).toBe(200);
  expect(await by.reads(forApi, "/mcp")).toBe(401);
  const wider = await by.token(await by.approved({}, { resource: `${by.url}/mcp` }), { resource: `${by.url}/v1` });
  expect(wider.body.error).toBe("invalid_target");
});

test("another environment's token is nobody's here", async () => {
  const by = await byHand();
  const there = await openDoor();
  const { body } = await by.token(await by.approved());
  const answer = await fetch(`${there.url}/v1/threads`, { headers: { authorization: `Bearer ${body.access_token}` } });
  expect(answer.status).toBe(401);
  expect(answer.headers.get("www-authenticate")).toContain(`error="invalid_token"`);
  expect(answer.headers.get("www-authenticate")).toContain(`resource_metadata="${there.url}/.well-known/oauth-protected-resource/v1"`);
});

test("a program is held to what it was given: access by the route, modes by the runtime", async () => {
  const by = await byHand();
  const { body } = await by.token(await by.approved({ access: ["reads", "starts_threads"], runtimeMode: "approval-required" }));
  const command = (command: object) =>
    fetch(`${by.url}/v1/commands`, {
      method: "POST",
      headers: { authorization: `Bearer ${body.access_token}`, "content-type": "application/json" },
      body: JSON.stringify({ id: `cmd:${crypto.randomUUID()}`, command }),
    });
  expect((await command({ type: "thread.create" })).status).toBe(200);
  const broad = await command({ type: "thread.create", runtimeMode: "full-access" });
  expect([broad.status, ((await broad.json()) as { code: string }).code]).toEqual([403, "runtime_mode_escalation_denied"]);
  const beyond = await command({ type: "project.add", path: "/tmp" });
  expect([beyond.status, ((await beyond.json()) as { code: string }).code]).toEqual([403, "capability_denied"]);
});

test("a program gives its token back, and is out; one that nobody knows is no error", async () => {
  const by = await byHand();
  const { body } = await by.token(await by.approved());
  expect((await by.post("/oauth/revoke", { token: "rwc_unknown.token" })).status).toBe(200);
  expect(await by.reads(body.access_token)).toBe(200);
  expect((await by.post("/oauth/revoke", { token: String(body.access_token) })).status).toBe(200);
  expect(await by.reads(body.access_token)).toBe(401);
  expect((await by.post("/oauth/revoke", {})).body.error).toBe("invalid_request");
});
