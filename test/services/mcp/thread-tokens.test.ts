import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { inspect } from "node:util";
import { expect, test } from "vitest";
import type { ThreadId } from "../../../schemas/ids.ts";
import { ThreadTokens } from "../../../services/mcp/thread-tokens.ts";
import { withTools } from "../../support/agents-tools.ts";
import { until } from "../../support/environments.ts";
import { fresh, serveMcp } from "./rig.ts";

const here = "env:0197f000-0000-7000-8000-00000000e001" as never;
const there = "env:0197f000-0000-7000-8000-00000000e002" as never;
const threadId = "thread:0197f000-0000-7000-8000-000000000001" as ThreadId;
const session = { threadId, instance: "p1" };

test("a token names its thread until it is taken back, and no other token does", () => {
  const tokens = new ThreadTokens(here);
  const token = tokens.make(session);
  expect(tokens.verify(token)).toEqual({ kind: "thread", threadId, runId: null });
  const other = tokens.make(session);
  expect(other).not.toBe(token);
  for (const wrong of ["", "rwt_", token.slice(0, -1), `${token}x`, token.toUpperCase(), token.replace(/\..*$/, `.${other.split(".")[1]}`)])
    expect(tokens.verify(wrong), wrong).toBeNull();
  tokens.revoke(token);
  expect(tokens.verify(token)).toBeNull();
  expect(tokens.verify(other)).not.toBeNull();
});

test("a token is of no use in another environment, nor in a later process", () => {
  const token = new ThreadTokens(here).make(session);
  expect(new ThreadTokens(there).verify(token)).toBeNull();
  expect(new ThreadTokens(here).verify(token)).toBeNull();
});

test("nothing that is kept holds the token itself", () => {
  const tokens = new ThreadTokens(here);
  const token = tokens.make(session);
  const secret = token.split(".")[1] ?? "";
  expect(secret.length).toBeGreaterThan(40);
  expect(inspect(tokens, { depth: 10, showHidden: true })).not.toContain(secret);
});

test("no token is made while the tools are served nowhere", () => {
  const tokens = new ThreadTokens(here);
  expect(tokens.issue(session)).toBeNull();
  tokens.servedAt("http://127.0.0.1:1/mcp");
  const given = tokens.issue(session);
  expect(given).toMatchObject({ url: "http://127.0.0.1:1/mcp" });
  expect(tokens.verify(given?.token ?? "")).toMatchObject({ threadId });
});

test("an agent is given its tools with its session, calls them as its thread, and loses them when the session is let go", async () => {
  const { env, opened, token } = await withTools();
  const rig = await serveMcp(env);
  env.threadTools.servedAt(rig.url.href);
  const thread = await env.newThread();
  const { runId } = await env.send({ type: "thread.send", threadId: thread, text: "hang", provider: { instance: "p1", model: null } });
  await until(() => env.runs.get(runId)?.status === "running");
  expect(opened).toMatchObject([{ appTools: { url: rig.url.href, token: expect.stringMatching(/^rwt_/) } }]);
  expect(env.threadTools.callerOf(token())).toEqual({ kind: "thread", threadId: thread, runId: null });

  // As the environment's own token door says who it is.
  const caller = env.threadTools.callerOf(token());
  const agent = await rig.connect(rig.let(caller as never));
  expect((await agent.use("orchestrator_capabilities")).caller).toMatchObject({ kind: "thread", threadId: thread });
  expect(await agent.use("delegate_task", { prompt: "count", clientRequestId: fresh() })).toMatchObject({ repeated: false });

  await env.send({ type: "thread.interrupt", threadId: thread });
  await env.ended(runId);
  await env.say(thread, "hello", { provider: { instance: "p2", model: null } });
  expect(env.threadTools.callerOf(token())).toBeNull();
});

test("a session that could not be opened leaves no token, and a provider that takes no tools is given none", async () => {
  const failing = await withTools();
  failing.env.threadTools.servedAt("http://127.0.0.1:1/mcp");
  failing.refuse();
  const run = await failing.env.say(await failing.env.newThread(), "hello", { provider: { instance: "p1", model: null } });
  expect(run.status).toBe("failed");
  expect(failing.env.threadTools.callerOf(failing.token())).toBeNull();
  const plain = await withTools("none");
  plain.env.threadTools.servedAt("http://127.0.0.1:1/mcp");
  await plain.env.say(await plain.env.newThread(), "hello", { provider: { instance: "p1", model: null } });
  expect(plain.opened.map((request) => request.appTools)).toEqual([undefined]);
});

test("a token is not kept in the environment's folder", async () => {
  const { env, token } = await withTools();
  env.threadTools.servedAt("http://127.0.0.1:1/mcp");
  await env.say(await env.newThread(), "hello", { provider: { instance: "p1", model: null } });
  const secret = token().split(".")[1] ?? "";
  expect(secret).not.toBe("");
  await env.close();
  const files = readdirSync(env.dir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  expect(files.length).toBeGreaterThan(2);
  for (const file of files) expect(readFileSync(join(file.parentPath, file.name)).includes(secret), file.name).toBe(false);
});
