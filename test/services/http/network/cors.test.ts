import { expect, test } from "vitest";
import { openDoor } from "../../../support/door.ts";
import { OAuthProgram } from "../../../support/oauth-program.ts";

const page = "http://localhost:6274";

test("a program in a page of this machine reads how to be let in, asks beforehand, and reads what it is answered", async () => {
  const { url, mcpUrl, pair } = await openDoor();
  const asked = await fetch(mcpUrl, {
    method: "OPTIONS",
    headers: {
      origin: page,
      "access-control-request-method": "POST",
      "access-control-request-headers": "authorization, mcp-protocol-version",
    },
  });
  expect(asked.status).toBe(204);
  expect(asked.headers.get("access-control-allow-origin")).toBe(page);
  expect(asked.headers.get("access-control-allow-headers")).toBe("authorization, mcp-protocol-version");
  expect(asked.headers.get("access-control-allow-credentials")).toBeNull();
  for (const path of ["/mcp", "/v1/threads", "/.well-known/oauth-authorization-server", "/.well-known/oauth-protected-resource/mcp"]) {
    const answer = await fetch(`${url}${path}`, { headers: { origin: page } });
    expect([path, answer.headers.get("access-control-allow-origin"), answer.headers.get("vary")]).toEqual([path, page, "origin"]);
    expect(answer.headers.get("access-control-expose-headers")).toContain("www-authenticate");
  }
  const token = await new OAuthProgram({ everywhere: true }).pair(mcpUrl, (await pair()).code);
  const read = await fetch(`${url}/v1/threads`, { headers: { origin: page, authorization: `Bearer ${token}` } });
  expect([read.status, read.headers.get("access-control-allow-origin")]).toEqual([200, page]);
});

test("no other page reads the one on which a person decides, and pages of other sites read nothing", async () => {
  const { url } = await openDoor();
  for (const method of ["GET", "POST", "OPTIONS"]) {
    const answer = await fetch(`${url}/oauth/authorize`, { method, headers: { origin: page, "access-control-request-method": "POST" } });
    expect([method, answer.headers.get("access-control-allow-origin")]).toEqual([method, null]);
  }
  const evil = { origin: "https://evil.example", "access-control-request-method": "POST" };
  for (const method of ["GET", "OPTIONS"]) {
    const answer = await fetch(`${url}/mcp`, { method, headers: evil });
    expect([method, answer.status, answer.headers.get("access-control-allow-origin")]).toEqual([method, 403, null]);
  }
});

test("a page of the environment's own address needs no leave, and an odd list of headers is given none", async () => {
  const { url } = await openDoor();
  const own = await fetch(`${url}/.well-known/oauth-authorization-server`, { headers: { origin: url } });
  expect(own.headers.get("access-control-allow-origin")).toBeNull();
  const odd = await fetch(`${url}/v1/threads`, {
    method: "OPTIONS",
    headers: { origin: page, "access-control-request-method": "GET", "access-control-request-headers": "a; b" },
  });
  expect([odd.status, odd.headers.get("access-control-allow-headers")]).toEqual([204, null]);
});
