import { createServer } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { connectLocal } from "../../../../services/http/client.ts";
import { networkLimits } from "../../../../services/http/network/limits.ts";
import { keptPort } from "../../../../services/http/network/port.ts";
import { serveEnvironment } from "../../../../services/serving.ts";
import { selfSigned, trust } from "../../../support/certificate.ts";
import { openDoor } from "../../../support/door.ts";
import { startEnvironment } from "../../../support/environments.ts";
import { OAuthProgram } from "../../../support/oauth-program.ts";

const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "by-hand", version: "1" } },
};
const portOf = (url: string | null) => Number(new URL(url ?? "").port);

test("the port is picked once and stays the same over restarts; one that is named is not kept", async () => {
  const env = await startEnvironment();
  const first = await serveEnvironment(env);
  await first.close();
  const second = await serveEnvironment(env);
  await second.close();
  expect(second.url).toBe(first.url);
  const third = await serveEnvironment(env, { http: { port: 0 } });
  await third.close();
  expect(keptPort(env.dir)).toBe(portOf(first.url));
});

test("a port that is taken meanwhile is another one this time, with a warning, and is itself again once it is free", async () => {
  const env = await startEnvironment();
  const first = await serveEnvironment(env);
  await first.close();
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(portOf(first.url), "127.0.0.1", resolve));
  const warnings: string[] = [];
  const second = await serveEnvironment(env, { warn: (_, text) => warnings.push(text) });
  await second.close();
  expect(second.url).not.toBe(first.url);
  expect(warnings).toEqual([expect.stringContaining(`port ${portOf(first.url)}`)]);
  await new Promise((resolve) => other.close(resolve));
  const third = await serveEnvironment(env);
  await third.close();
  expect(third.url).toBe(first.url);
});

test("a port that was named and is taken is refused, and nothing is left listening on the socket", async () => {
  const env = await startEnvironment();
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void other.close());
  const { port } = other.address() as { port: number };
  const refused = await serveEnvironment(env, { http: { port } }).then(
    () => null,
    (error) => error.refusal,
  );
  expect(refused).toMatchObject({ code: "orchestration_error", reason: "address_taken", details: { port } });
  const served = await serveEnvironment(env, { http: { port: 0 } });
  await served.close();
});

test("switched off, nobody listens, and no code is made for a door that is not there", async () => {
  const { served, pair } = await openDoor({}, { http: null });
  expect(served.url).toBeNull();
  await expect(pair()).rejects.toMatchObject({ refusal: { reason: "no_listener" } });
});

test("what only this machine's user may do is not there on the network, whatever the token", async () => {
  let ended = 0;
  const shutdown = () => {
    ended += 1;
  };
  const { url, mcpUrl, pair } = await openDoor({}, { shutdown });
  const token = await new OAuthProgram({ everywhere: true }).pair(mcpUrl, (await pair({ access: ["reads", "writes_environment"] })).code);
  const headers = { authorization: `Bearer ${token}` };
  expect((await fetch(`${url}/v1/clients`, { headers })).status).toBe(404);
  for (const path of ["/v1/clients/pairing", "/v1/shutdown", "/v1/clients/client:x/revoke"])
    expect((await fetch(`${url}${path}`, { method: "POST", headers, body: "{}" })).status).toBe(404);
  expect(ended).toBe(0);
});

test("agents of this machine find their tools at a loopback address, also beside TLS, and nobody else is served there", async () => {
  const told: (string | null)[] = [];
  const tls = selfSigned();
  trust(tls.cert);
  const env = await startEnvironment();
  const threadId = await env.newThread();
  const listening = {
    onRevoked: env.threadTools.onRevoked,
    servedAt: (url: string | null) => void told.push(url),
    callerOf: (token: string) => (token === "agent" ? { kind: "thread" as const, threadId, runId: null } : null),
  };
  const plain = await serveEnvironment({ ...env, threadTools: listening }, { http: { port: 0 } });
  expect(told).toEqual([`${plain.url}/mcp`]);
  await plain.close();
  expect(told.at(-1)).toBeNull();
  const secure = await serveEnvironment({ ...env, threadTools: listening }, { http: { port: 0, tls } });
  onTestFinished(() => secure.close());
  const agents = told.at(-1) ?? "";
  expect(agents).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/mcp$/);
  const local = connectLocal(env.dir);
  onTestFinished(() => local.close());
  const program = await new OAuthProgram().pair(`${secure.url}/mcp`, (await local.addClient({})).code);
  const ping = (url: string, token: string) =>
    fetch(url, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json", accept: "application/json, text/event-stream" },
      body: JSON.stringify(initialize),
    }).then(({ status }) => status);
  expect([await ping(agents, "agent"), await ping(agents, program), await ping(agents, "nobody")]).toEqual([200, 401, 401]);
  expect(await ping(`${secure.url}/mcp`, program)).toBe(200);
  for (const path of ["/oauth/authorize", "/v1/threads", "/.well-known/oauth-authorization-server"])
    expect((await fetch(new URL(path, agents))).status).toBe(401);
  expect((await fetch(`${secure.url}/.well-known/oauth-authorization-server`)).status).toBe(200);
});

test("one caller has a bounded number of requests and streams open; others are not held up by it", async () => {
  const { url, mcpUrl, pair } = await openDoor();
  const tokenOf = async () => new OAuthProgram({ everywhere: true }).pair(mcpUrl, (await pair()).code);
  const [greedy, modest] = [await tokenOf(), await tokenOf()];
  const stop = new AbortController();
  const feed = (token: string) => fetch(`${url}/v1/feed?after=0`, { headers: { authorization: `Bearer ${token}` }, signal: stop.signal });
  const streams = await Promise.all(Array.from({ length: networkLimits.requestsPerCaller }, () => feed(greedy)));
  expect(streams.every(({ status }) => status === 200)).toBe(true);
  const beyond = await feed(greedy);
  expect([beyond.status, beyond.headers.get("retry-after")]).toEqual([429, "1"]);
  expect(await beyond.json()).toMatchObject({ reason: "too_many_requests" });
  expect((await feed(modest)).status).toBe(200);
  await streams[0]?.body?.cancel();
  await expect.poll(async () => (await feed(greedy)).status).toBe(200);
  stop.abort();
});
