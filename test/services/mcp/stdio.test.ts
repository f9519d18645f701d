import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { describe, expect, onTestFinished, test } from "vitest";
import { ThreadTokens } from "../../../services/mcp/thread-tokens.ts";
import { serveEnvironment } from "../../../services/serving.ts";
import { withTools } from "../../support/agents-tools.ts";
import { startEnvironment, type TestEnvironment, temporaryFolder, until } from "../../support/environments.ts";
import { asTestClient, fresh, type TestClient } from "./rig.ts";

const bin = fileURLToPath(new URL("../../../bin/ropewalk.js", import.meta.url));
const environment = (more: Record<string, string> = {}) => ({
  PATH: process.env.PATH ?? "",
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? "",
  ...more,
});

async function served(options: Parameters<typeof startEnvironment>[0] = {}): Promise<TestEnvironment> {
  const env = await startEnvironment(options);
  const server = await serveEnvironment(env);
  onTestFinished(() => server.close());
  return Object.assign(env, { stopServing: () => server.close() });
}

type Door = { era?: "legacy" | "modern"; flags?: string[]; token?: string };

/** What an agent does with a tool that is a program: starts `ropewalk mcp` and speaks with it. */
async function start(dir: string, { era = "legacy", flags = [], token }: Door = {}): Promise<TestClient> {
  const mode = era === "legacy" ? "legacy" : { pin: "2026-07-28" };
  const client = new Client({ name: "ropewalk-test", version: "1" }, { versionNegotiation: { mode: mode as "legacy" } });
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [bin, "--dir", dir, "mcp", ...flags],
    env: environment(token === undefined ? {} : { ROPEWALK_MCP_TOKEN: token }),
    stderr: "ignore",
  });
  await client.connect(transport);
  onTestFinished(() => client.close());
  return asTestClient(client);
}

const script = { rules: [{ match: { contains: "hang" }, steps: [{ hang: true }] }] };

describe.each(["legacy", "modern"] as const)("over the %s revision", (era) => {
  test("an agent that starts its tools as a program has them all: list, call, progress, taking back, resources", async () => {
    const env = await served({ scripts: { p1: script } });
    const client = await start(env.dir, { era });
    expect((await client.listTools()).tools).toHaveLength(16);
    const { threadId, runId } = await client.use("t3_thread_launch", { prompt: "hello", clientRequestId: fresh() });
    expect(await client.use("t3_thread_wait", { threadId, runId, waitSeconds: 20 })).toMatchObject({ status: "completed" });
    expect((await client.listResources()).resources).toMatchObject([{ uri: `ropewalk://thread/${threadId}` }]);

    const hanging = await client.use("t3_thread_send", { threadId, text: "hang", clientRequestId: fresh() });
    await until(() => env.runs.get(hanging.runId)?.status === "running");
    const told: unknown[] = [];
    const controller = new AbortController();
    const onprogress = (news: unknown) => {
      told.push(news);
      controller.abort();
    };
    const waiting = client.use("t3_thread_wait", { threadId, waitSeconds: 30 }, { signal: controller.signal, onprogress });
    await expect(waiting).rejects.toThrow();
    expect(told).toMatchObject([{ message: "running", total: 30 }]);
    expect(env.runs.get(hanging.runId)?.status).toBe("running");
    expect(await client.use("t3_thread_wait", { threadId, waitSeconds: 0 })).toMatchObject({ runId: hanging.runId, ended: false });
  });
});

test("started by a person it is a client of this machine, with the usual modes unless the person says more", async () => {
  const env = await served();
  const usual = await start(env.dir);
  expect(await usual.use("orchestrator_capabilities")).toMatchObject({
    caller: { kind: "client", modes: { runtimeMode: "auto-accept-edits", interactionMode: "default" } },
  });
  expect(await usual.refused("t3_thread_launch", { prompt: "x", runtimeMode: "full-access", clientRequestId: fresh() })).toMatchObject({
    code: "runtime_mode_escalation_denied",
  });
  const broad = await start(env.dir, { flags: ["--runtime-mode", "full-access", "--profile", "small"] });
  expect((await broad.listTools()).tools).toHaveLength(8);
  await broad.use("t3_thread_launch", { prompt: "x", runtimeMode: "full-access", clientRequestId: fresh() });
  const reader = await start(env.dir, { flags: ["--access", "reads"] });
  expect(await reader.refused("t3_thread_launch", { prompt: "x", clientRequestId: fresh() })).toMatchObject({ code: "capability_denied" });
});

test.each(["legacy", "modern"] as const)(
  "with a thread's token it is that thread's agent; when the token is taken back, its open stream ends at that moment: %s",
  async (era) => {
    const { env, token } = await withTools();
    const server = await serveEnvironment(env);
    onTestFinished(() => server.close());
    const threadId = await env.newThread();
    const provider = { instance: "p1", model: null };
    const { runId } = await env.send({ type: "thread.send", threadId, text: "hang", provider });
    await until(() => env.runs.get(runId)?.status === "running");
    const given = token();
    const agent = await start(env.dir, { era, token: given });
    expect((await agent.use("orchestrator_capabilities")).caller).toMatchObject({ kind: "thread", threadId });
    expect((await agent.listTools()).tools).toHaveLength(8);
    expect(await agent.use("t3_thread_launch", { prompt: "count", clientRequestId: fresh() })).toMatchObject({ repeated: false });

    const told: string[] = [];
    const uri = `ropewalk://thread/${threadId}`;
    agent.setNotificationHandler("notifications/resources/updated", ({ params }) => void told.push(params.uri));
    if (era === "legacy") await agent.subscribeResource({ uri });
    else await agent.listen({ resourceSubscriptions: [uri] });
    await env.send({ type: "thread.rename", threadId, title: "told" });
    await until(() => told.length > 0);

    // Its session is let go with the change of provider, and the token with it, in the middle of a call.
    const over = new Promise<void>((resolve) => {
      agent.onclose = () => resolve();
    });
    await env.send({ type: "thread.interrupt", threadId });
    await env.ended(runId);
    const other = await env.newThread();
    const { runId: hanging } = await env.send({ type: "thread.send", threadId: other, text: "hang", provider });
    await until(() => env.runs.get(hanging)?.status === "running");
    const waiting = agent.use("t3_thread_wait", { threadId: other, runId: hanging, waitSeconds: 50 });
    const cutOff = expect(waiting).rejects.toThrow();
    await env.say(threadId, "hello", { provider: { instance: "p2", model: null } });
    expect(env.threadTools.callerOf(given)).toBeNull();
    await over;
    await cutOff;
    const before = told.length;
    await env.send({ type: "thread.rename", threadId, title: "told to nobody" });
    await expect(agent.use("t3_thread_list")).rejects.toThrow();
    // The work that it waited for goes on, and the other thread's agent has its own token.
    expect(env.runs.get(hanging)).toMatchObject({ status: "running" });
    expect(env.threadTools.callerOf(token())).toMatchObject({ threadId: other });
    expect(told).toHaveLength(before);
  },
);

test("a token that nobody gave opens no stream", async () => {
  const env = await served();
  await expect(
    start(env.dir, { token: new ThreadTokens(env.id).make({ threadId: await env.newThread(), instance: "p1" }) }),
  ).rejects.toThrow();
});

test("without an environment it starts one, and says so only on standard error", async () => {
  const dir = temporaryFolder();
  const child = spawn(process.execPath, [bin, "--dir", dir, "mcp"], { env: environment(), stdio: ["pipe", "pipe", "pipe"] });
  onTestFinished(async () => {
    child.kill();
    const down = spawn(process.execPath, [bin, "--dir", dir, "down"], { env: environment(), stdio: "ignore" });
    await once(down, "exit");
  });
  const initialize = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "by-hand", version: "1" } };
  child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: initialize })}\n`);
  const [line] = (await linesOf(child, 1)) as [string];
  expect(JSON.parse(line)).toMatchObject({ id: 1, result: { serverInfo: { name: "ropewalk" } } });
  child.stdin.end();
  const [code] = await once(child, "exit");
  expect(code).toBe(0);
}, 60_000);

test("it ends with exit code 4 when the environment stops, and when there is none and none may be started", async () => {
  const env = (await served()) as TestEnvironment & { stopServing(): Promise<void> };
  const child = spawn(process.execPath, [bin, "--dir", env.dir, "mcp"], { env: environment(), stdio: ["pipe", "pipe", "ignore"] });
  child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" })}\n`);
  await linesOf(child, 1);
  const over = once(child, "exit");
  await env.stopServing();
  expect((await over)[0]).toBe(4);
  const none = spawn(process.execPath, [bin, "--dir", temporaryFolder(), "--no-start", "mcp"], { env: environment(), stdio: "ignore" });
  expect((await once(none, "exit"))[0]).toBe(4);
});

/** The first lines of what a process says. */
async function linesOf(child: ChildProcess, count: number): Promise<string[]> {
  let text = "";
  for await (const chunk of child.stdout ?? []) {
    text += String(chunk);
    const lines = text.split("\n");
    if (lines.length > count) return lines.slice(0, count);
  }
  throw new Error(`the process ended after: ${text}`);
}
