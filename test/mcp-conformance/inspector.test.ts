import { describe, expect, test } from "vitest";
import { prepareFolders } from "../../services/cli/demo/folders.ts";
import { fresh } from "../services/mcp/rig.ts";
import { selfSigned, trust } from "../support/certificate.ts";
import { temporaryFolder } from "../support/environments.ts";
import { Inspector } from "../support/inspector.ts";
import { OAuthProgram } from "../support/oauth-program.ts";
import { plainEnv, RunningEnvironment, ropewalk } from "../support/up.ts";

const eras = ["legacy", "modern"] as const;

/** An environment's folder with scripted providers. */
const folder = () => prepareFolders(temporaryFolder(), { provider: "scripted", script: null, broker: null }).laptop.dir;

/** What the inspector answers with when a tool refused. */
const refused = 5;
/** … and when it has no token, and may not ask for one. */
const authRequired = 3;

describe.each(eras)("over the %s revision", (era) => {
  test("the inspector starts `ropewalk mcp`, lists the tools and calls them", async () => {
    const { dir } = await RunningEnvironment.start(folder());
    const inspector = new Inspector();
    const env = Object.entries(plainEnv()).flatMap(([name, value]) => ["-e", `${name}=${value}`]);
    const at = (...flags: string[]) => [...flags, ...env, "--transport", "stdio", "--protocol-era", era];
    const program = ["--", process.execPath, ropewalk, "--dir", dir, "mcp"];
    const call = async (tool: string, args: object) =>
      inspector.run([...at("--method", "tools/call", "--tool-name", tool, "--tool-args-json", JSON.stringify(args)), ...program]);

    const listed = await inspector.run([...at("--method", "tools/list", "--strict"), ...program]);
    expect(listed.code).toBe(0);
    expect(listed.result.tools).toHaveLength(16);
    // What models are given is portable to all of them; answers may be what JSON Schema allows.
    expect(listed.stderr).not.toContain("inputSchema");
    expect(listed.stderr).toContain("0 errors");

    const launched = await call("t3_thread_launch", { prompt: "hello", clientRequestId: fresh() });
    expect(launched).toMatchObject({ code: 0, result: { structuredContent: { repeated: false } } });
    const { threadId, runId } = launched.result.structuredContent;
    expect((await call("t3_thread_wait", { threadId, runId, waitSeconds: 20 })).result.structuredContent).toMatchObject({
      status: "completed",
    });
    const unknown = await call("t3_thread_read", { threadId: "thread:0197f000-0000-7000-8000-000000000001" });
    expect(unknown).toMatchObject({ code: refused, result: { structuredContent: { error: { code: "thread_not_found" } } } });
    const resource = await inspector.run([...at("--method", "resources/read", "--uri", `ropewalk://thread/${threadId}`), ...program]);
    expect(JSON.parse(resource.result.contents[0].text).thread).toMatchObject({ threadId });
  }, 120_000);
});

/** From the address and a code to a tool's answer, by the inspector's own OAuth; then to the end of it. */
async function letIn(environment: RunningEnvironment, env: Record<string, string>) {
  const inspector = new Inspector();
  const door = ["--server-url", environment.mcpUrl, "--transport", "http"];
  const byToken = [...door, "--stored-auth-only"];
  expect(await inspector.run([...byToken, "--method", "tools/list"], { env })).toMatchObject({ code: authRequired, result: null });

  const code = await environment.code("--name", "the inspector");
  const callback = ["--callback-url", "http://127.0.0.1:0/oauth/callback"];
  const listed = await inspector.run([...door, ...callback, "--method", "tools/list"], {
    env,
    onPage: (page) => new OAuthProgram().approve(page, code),
  });
  expect(listed.code, listed.stderr).toBe(0);
  expect(listed.result.tools).toHaveLength(16);
  const { clients } = await environment.cli<{ clients: { id: string; name: string }[] }>("client", "list");
  expect(clients).toMatchObject([{ name: "the inspector" }]);

  for (const era of eras) {
    const args = { prompt: "hello", clientRequestId: fresh() };
    const launched = await inspector.call([...byToken, "--protocol-era", era], "t3_thread_launch", args, { env });
    expect(launched, launched.stderr).toMatchObject({ code: 0, result: { structuredContent: { repeated: false } } });
    const { threadId, runId } = launched.result.structuredContent;
    const waited = await inspector.call(
      [...byToken, "--protocol-era", era],
      "t3_thread_wait",
      { threadId, runId, waitSeconds: 20 },
      { env },
    );
    expect(waited.result.structuredContent).toMatchObject({ status: "completed" });
  }

  await environment.cli("client", "revoke", "the inspector");
  expect((await inspector.run([...byToken, "--method", "tools/list"], { env })).code).not.toBe(0);
}

test("over HTTP the inspector lets itself in by its own OAuth and a pairing code, lists and calls the tools, and is out when it is revoked", async () => {
  await letIn(await RunningEnvironment.start(folder()), {});
}, 120_000);

test("the same over TLS, with the environment's own certificate", async () => {
  const { cert, key } = selfSigned();
  trust(cert);
  const environment = await RunningEnvironment.start(folder(), ["--tls-cert", cert, "--tls-key", key]);
  expect(environment.url).toMatch(/^https:/);
  await letIn(environment, { NODE_EXTRA_CA_CERTS: cert });
}, 120_000);
