import { Client } from "@modelcontextprotocol/client";
import { expect, onTestFinished, test } from "vitest";
import type { ClientId } from "../../../schemas/ids.ts";
import { connectLocal } from "../../../services/http/client.ts";
import type { ServeOptions } from "../../../services/serving.ts";
import { selfSigned, trust } from "../../support/certificate.ts";
import { openDoor } from "../../support/door.ts";
import { OAuthProgram } from "../../support/oauth-program.ts";
import { until } from "../../support/until.ts";

/** From the address alone to a tool's answer and to the end of it, by the official client's own OAuth. */
async function story(serve: ServeOptions = {}) {
  const { mcpUrl, url, pair, env, errors } = await openDoor({}, serve);
  const local = connectLocal(env.dir);
  onTestFinished(() => local.close());
  const threadId = await env.newThread({ title: "seen from afar" });

  const program = new OAuthProgram({ name: "Ferry", everywhere: true });
  const { code } = await pair({ name: "the ferry" });
  const token = await program.pair(mcpUrl, code);
  expect(program.given?.refresh_token).toBeUndefined();

  const client = new Client({ name: "ferry", version: "1" });
  await client.connect(program.transport(mcpUrl));
  onTestFinished(() => client.close());
  const listed = await client.callTool({ name: "t3_thread_list", arguments: {} });
  expect(JSON.stringify(listed.structuredContent)).toContain(threadId);
  const { clients } = await local.clients();
  expect(clients).toMatchObject([{ name: "the ferry", program: "Ferry", tokens: [{ usedAt: expect.any(Number) }] }]);

  // A stream of each kind, open when it is revoked.
  const authorization = { authorization: `Bearer ${token}` };
  const feed = await fetch(`${url}/v1/feed?after=0`, { headers: authorization });
  const feedEnded = drain(feed);
  const initialized = await fetch(mcpUrl, {
    method: "POST",
    headers: { ...authorization, "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "by-hand", version: "1" } },
    }),
  });
  const session = initialized.headers.get("mcp-session-id") ?? "";
  await initialized.text();
  const stream = await fetch(mcpUrl, { headers: { ...authorization, accept: "text/event-stream", "mcp-session-id": session } });
  expect([feed.status, stream.status]).toEqual([200, 200]);
  const streamEnded = drain(stream);
  const isOver = { feed: false, stream: false };
  void feedEnded.then(() => {
    isOver.feed = true;
  });
  void streamEnded.then(() => {
    isOver.stream = true;
  });
  await env.newThread();
  expect(isOver).toEqual({ feed: false, stream: false });

  // At once, and not when it is looked at next: that would be half a minute after the start.
  const began = performance.now();
  await local.revokeClient(clients[0]?.id as ClientId);
  await until("both streams are over", () => isOver.feed && isOver.stream);
  expect(performance.now() - began).toBeLessThan(10_000);
  await expect(client.callTool({ name: "t3_thread_list", arguments: {} })).rejects.toThrow();
  expect((await fetch(`${url}/v1/threads`, { headers: authorization })).status).toBe(401);
  expect((await local.clients()).clients).toEqual([]);

  // It is still registered: the person lets it in again by another code, and by nothing less.
  program.given = undefined;
  expect(await program.pair(mcpUrl, (await pair()).code)).not.toBe(token);
  expect(errors).toEqual([]);
  return { url };
}

test("a program that knows the address alone registers, asks, is let in by a code, calls a tool; revoked, it is out in the middle of its streams", async () => {
  const { url } = await story();
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
});

test("the same over TLS", async () => {
  const tls = selfSigned();
  trust(tls.cert);
  const { url } = await story({ http: { port: 0, tls } });
  expect(url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
});

async function drain(response: Response): Promise<void> {
  try {
    for await (const _ of response.body ?? []);
  } catch {
    // Broken off, which is how it ends.
  }
}
