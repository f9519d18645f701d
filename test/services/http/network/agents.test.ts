import { expect, onTestFinished, test } from "vitest";
import { serveEnvironment } from "../../../../services/serving.ts";
import { withTools } from "../../../support/agents-tools.ts";
import { until } from "../../../support/until.ts";

test("an agent calls its tools where its session says they are, and is out in the middle of a stream when the session is let go", async () => {
  const { env, opened, token } = await withTools();
  const served = await serveEnvironment(env, { http: { port: 0 } });
  onTestFinished(() => served.close());
  const threadId = await env.newThread();
  const { runId } = await env.send({ type: "thread.send", threadId, text: "hang", provider: { instance: "p1", model: null } });
  await until("its run is under way", () => env.runs.get(runId)?.status === "running");
  const url = opened[0]?.appTools?.url ?? "";
  expect(url).toBe(`${served.url}/mcp`);

  const own = { authorization: `Bearer ${token()}` };
  const initialized = await fetch(url, {
    method: "POST",
    headers: { ...own, "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "agent", version: "1" } },
    }),
  });
  expect(initialized.status).toBe(200);
  await initialized.text();
  const session = { "mcp-session-id": initialized.headers.get("mcp-session-id") ?? "" };
  const stream = await fetch(url, { headers: { ...own, ...session, accept: "text/event-stream" } });
  expect(stream.status).toBe(200);
  let isOver = false;
  void stream.body
    ?.pipeTo(new WritableStream())
    .catch(() => {})
    .then(() => {
      isOver = true;
    });

  await env.send({ type: "thread.interrupt", threadId });
  await env.ended(runId);
  expect(isOver).toBe(false);
  // Another provider serves it from now on: the session, and with it its token, is let go.
  await env.say(threadId, "hello", { provider: { instance: "p2", model: null } });
  await until("its stream is over", () => isOver, 10_000);
  expect((await fetch(url, { method: "POST", headers: own })).status).toBe(401);
});
