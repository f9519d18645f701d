import { expect, test } from "vitest";
import type { ThreadId } from "../../../schemas/ids.ts";
import type { Grant } from "../../../schemas/link.ts";
import { broadestModes } from "../../../schemas/modes.ts";
import { clientCaller, fresh, type Loose, linkToNobody, type Rig, startMcp } from "./rig.ts";

const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "by-hand", version: "1" } },
};

function post(rig: Rig, token: string, body: unknown, headers: Record<string, string> = {}) {
  return fetch(rig.url, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...headers,
    },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

test("nobody is served whom nobody vouches for, also in a session that was open before", async () => {
  const rig = await startMcp({ app: { challenge: () => 'resource_metadata="http://localhost/m"' } });
  const answer = await post(rig, "unknown", initialize);
  expect(answer.status).toBe(401);
  expect(answer.headers.get("www-authenticate")).toBe('Bearer realm="ropewalk", resource_metadata="http://localhost/m"');
  const token = rig.let(clientCaller());
  const opened = await post(rig, token, initialize);
  const session = { "mcp-session-id": opened.headers.get("mcp-session-id") ?? "" };
  const list = { jsonrpc: "2.0", id: 2, method: "tools/list" };
  expect((await post(rig, token, list, session)).status).toBe(200);
  rig.forget(token);
  expect((await post(rig, token, list, session)).status).toBe(401);
});

test("a session is found only by the caller that opened it, and ends when it is told to", async () => {
  const rig = await startMcp();
  const token = rig.let(clientCaller());
  const session = { "mcp-session-id": (await post(rig, token, initialize)).headers.get("mcp-session-id") ?? "" };
  const list = { jsonrpc: "2.0", id: 2, method: "tools/list" };
  const other = rig.let(clientCaller({ clientId: "client:another" as never }));
  expect((await post(rig, other, list, session)).status).toBe(404);
  expect((await post(rig, token, list)).status).toBe(400);
  await fetch(rig.url, { method: "DELETE", headers: { authorization: `Bearer ${token}`, ...session } });
  expect((await post(rig, token, list, session)).status).toBe(404);
});

test.each([
  ["no JSON", "{", {}, 400],
  ["a lone surrogate", '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"\\ud800"}}', {}, 400],
  ["another content type", "{}", { "content-type": "text/plain" }, 415],
  ["too much", JSON.stringify({ x: "x".repeat(20_000) }), {}, 413],
])("a body with %s is answered in the protocol's own words, without a stack trace", async (_, body, headers, status) => {
  const rig = await startMcp({ app: { maxBodyBytes: 10_000 } });
  const answer = await post(rig, rig.let(clientCaller()), body, headers);
  expect(answer.status).toBe(status);
  const text = await answer.text();
  expect(JSON.parse(text)).toMatchObject({ jsonrpc: "2.0", error: { code: expect.any(Number) } });
  expect(text).not.toMatch(/ at .*:\d+|node_modules/);
});

test.each([
  { method: "resources/read" },
  { method: "resources/read", params: { uri: 5 } },
  { method: "resources/list", params: { cursor: {} } },
  { method: "resources/subscribe" },
  { method: "tools/call", params: { name: 4 } },
])("parameters that the protocol does not have are the sender's fault, and no internal error: %j", async (message) => {
  const rig = await startMcp();
  const token = rig.let(clientCaller());
  const opened = await post(rig, token, initialize);
  const session = { "mcp-session-id": opened.headers.get("mcp-session-id") ?? "" };
  expect(await (await post(rig, token, { jsonrpc: "2.0", id: 2, ...message }, session)).text()).toContain('"code":-32602');
  expect(rig.errors).toEqual([]);
});

test("a fault of ours is told to nobody but who listens for faults", async () => {
  const rig = await startMcp({
    app: {
      offer: {
        readResource() {
          throw new TypeError("the rope is cut");
        },
      },
    },
  });
  const client = await rig.connect(rig.let(clientCaller()));
  const failure = await client.readResource({ uri: "test://x" }).catch((error) => error);
  expect(failure).toMatchObject({ code: -32603 });
  expect(JSON.stringify(failure) + failure.message).not.toContain("rope");
  expect(rig.errors).toMatchObject([{ message: "the rope is cut" }]);
});

/** An environment with a link, a thread that the link started and one of the person's. */
async function linked(grants: Grant[]) {
  const link = linkToNobody([{ kind: "threadImport", maxModes: broadestModes }, ...grants]);
  const rig = await startMcp({ config: { links: [link] } as never });
  const own = await rig.env.newThread({ title: "a person's" });
  const run = await rig.env.say(own, "the codeword is tarred hemp");
  const imported = { handoffId: "h", sourceEnvironmentId: "e", sourceThreadId: "t", messages: [{ role: "user", text: "x" }] };
  const caller = { kind: "link", linkId: link.id, environmentId: link.peer.environmentId } as const;
  const receipt: Loose = await rig.env.dispatch({ type: "thread.import", import: imported }, { caller });
  const threadId = receipt.result.threadId as ThreadId;
  const agent = await rig.connect(rig.tokens.make({ threadId, instance: "p1" }));
  return { rig, own, run, threadId, agent };
}

test("the agent of what a link started sees and changes only what carries the same stamp", async () => {
  const { rig, own, run, threadId, agent } = await linked([]);
  const { taskId } = await rig.env.send({ type: "task.spawn", parentThreadId: own, prompt: "count" });
  expect((await agent.use("t3_thread_list")).threads.map((thread: Loose) => thread.threadId)).toEqual([threadId]);
  expect((await agent.listResources()).resources.map((resource) => resource.name)).toEqual([threadId]);
  for (const [tool, args] of [
    ["t3_thread_read", { threadId: own }],
    ["t3_thread_transfers", { threadId: own }],
    ["t3_thread_wait", { threadId: own, runId: run.id }],
  ] as const)
    expect(await agent.refused(tool, args), tool).toMatchObject({ code: "thread_not_found" });
  expect(await agent.refused("task_status", { taskId })).toMatchObject({ code: "task_not_found" });
  await expect(agent.readResource({ uri: `ropewalk://thread/${own}` })).rejects.toMatchObject({ code: -32602 });
  const [item] = rig.env.threads.items(own);
  await expect(agent.readResource({ uri: `ropewalk://thread/${threadId}/item/${item?.id}` })).rejects.toMatchObject({ code: -32602 });
  await expect(agent.listen({ resourceSubscriptions: [`ropewalk://thread/${own}`] })).rejects.toThrow();
  expect(await agent.refused("t3_thread_send", { threadId: own, text: "x", clientRequestId: fresh() })).toMatchObject({
    code: "capability_denied",
    reason: "not_started_by_link",
  });
  const launched = await agent.use("t3_thread_launch", { prompt: "x", clientRequestId: fresh() });
  expect(rig.env.threads.get(launched.threadId)?.linkOrigin).toEqual(rig.env.threads.get(threadId)?.linkOrigin);
});

test("a link that was granted to read lets its agents read more, and change no more", async () => {
  const { own, agent } = await linked([{ kind: "read" }]);
  expect((await agent.use("t3_thread_read", { threadId: own })).items).toHaveLength(2);
  expect(await agent.refused("t3_thread_send", { threadId: own, text: "x", clientRequestId: fresh() })).toMatchObject({
    code: "capability_denied",
  });
});
