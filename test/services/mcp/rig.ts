import { generateKeyPairSync } from "node:crypto";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import { type CallToolResult, Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Hono } from "hono";
import { onTestFinished } from "vitest";
import { AccessKind } from "../../../schemas/access.ts";
import type { Caller } from "../../../schemas/command.ts";
import type { ClientId, EnvironmentId, LinkId } from "../../../schemas/ids.ts";
import type { Grant } from "../../../schemas/link.ts";
import { broadestModes } from "../../../schemas/modes.ts";
import type { McpAccess } from "../../../services/mcp/access.ts";
import { createMcpApp, type McpAppOptions } from "../../../services/mcp/app.ts";
import { bearerToken } from "../../../services/mcp/bearer.ts";
import { ThreadTokens } from "../../../services/mcp/thread-tokens.ts";
import type { Environment } from "../../../services/runtime/environment-api.ts";
import { startEnvironment, type TestEnvironment, type TestOptions } from "../../support/environments.ts";

export type ClientCaller = Extract<Caller, { kind: "client" }>;

/** A client with everything, or with what a test says. */
export function clientCaller(more: Partial<ClientCaller> = {}): ClientCaller {
  return { kind: "client", clientId: "client:tester" as ClientId, maxModes: broadestModes, access: AccessKind.options, ...more };
}

/** An answer whose members a test knows by its own expectations. */
// biome-ignore lint/suspicious/noExplicitAny: what comes over the wire has no type here, and is held against one by each test.
export type Loose = any;

export type Rig = {
  env: TestEnvironment;
  url: URL;
  tokens: ThreadTokens;
  /** Errors that the server did not foresee. */
  errors: unknown[];
  /** A token for a caller of the test's choice. */
  let(caller: Caller): string;
  forget(token: string): void;
  connect(token: string, options?: ConnectOptions): Promise<TestClient>;
};

type ConnectOptions = { era?: "legacy" | "modern"; headers?: Record<string, string>; query?: string };

export type TestClient = Client & {
  /** Calls a tool and returns what it answered as data; throws when it was refused. */
  use<T = Record<string, Loose>>(name: string, args?: Record<string, unknown>, options?: CallOptions): Promise<T>;
  /** Calls a tool that is to be refused; throws when it was not. */
  refused(
    name: string,
    args?: Record<string, unknown>,
  ): Promise<{ code: string; reason: string; message: string; hint: string; details?: Loose }>;
};
type CallOptions = {
  signal?: AbortSignal;
  onprogress?: (progress: { progress: number; total?: number; message?: string }) => void;
  timeout?: number;
};

/** A real environment whose tools are served over HTTP on loopback, and real clients of it. */
export async function startMcp(options: TestOptions & { app?: McpAppOptions } = {}): Promise<Rig> {
  const env = await startEnvironment(options);
  return serveMcp(env, options);
}

export async function serveMcp(env: TestEnvironment, options: { app?: McpAppOptions } = {}): Promise<Rig> {
  const tokens = new ThreadTokens(env.id);
  const callers = new Map<string, Caller>();
  const errors: unknown[] = [];
  const access: McpAccess = {
    authenticate(request) {
      const token = bearerToken(request) ?? "";
      return tokens.verify(token) ?? callers.get(token) ?? null;
    },
  };
  const ending = new AbortController();
  const app = createMcpApp(env as Environment, access, {
    version: "9.9.9",
    signal: ending.signal,
    onError: (error) => errors.push(error),
    ...options.app,
  });
  const server = createAdaptorServer({ fetch: new Hono().route("/mcp", app).fetch, overrideGlobalObjects: false }) as Server;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  onTestFinished(async () => {
    ending.abort();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const url = new URL(`http://127.0.0.1:${port}/mcp`);
  let named = 0;
  return {
    env,
    url,
    tokens,
    errors,
    let(caller) {
      const token = `test-token-${named++}`;
      callers.set(token, caller);
      return token;
    },
    forget: (token) => void callers.delete(token),
    connect: (token, more) => connect(url, token, more),
  };
}

async function connect(url: URL, token: string, { era = "modern", headers = {}, query = "" }: ConnectOptions = {}): Promise<TestClient> {
  const client = new Client(
    { name: "ropewalk-test", version: "1" },
    { versionNegotiation: { mode: era === "legacy" ? "legacy" : { pin: "2026-07-28" } } },
  );
  const transport = new StreamableHTTPClientTransport(new URL(query, url), {
    requestInit: { headers: { authorization: `Bearer ${token}`, ...headers } },
  });
  await client.connect(transport);
  onTestFinished(() => client.close());
  return asTestClient(client);
}

export function asTestClient(client: Client): TestClient {
  const call = async (name: string, args: Record<string, unknown> = {}, options: CallOptions = {}) =>
    (await client.callTool({ name, arguments: args }, options)) as CallToolResult;
  return Object.assign(client, {
    async use(name: string, args?: Record<string, unknown>, options?: CallOptions) {
      const result = await call(name, args, options);
      if (result.isError === true) throw new Error(`${name} was refused: ${JSON.stringify(result.structuredContent)}`);
      return result.structuredContent as never;
    },
    async refused(name: string, args?: Record<string, unknown>) {
      const result = await call(name, args);
      if (result.isError !== true) throw new Error(`${name} was not refused: ${JSON.stringify(result.structuredContent)}`);
      return (result.structuredContent as { error: never }).error;
    },
  }) as TestClient;
}

let requests = 0;
/** A request id that nobody has used. */
export const fresh = (): string => `request-${process.pid}-${requests++}`;

/** The configuration of a link to an environment that never answers. */
export const linkToNobody = (grants: readonly Grant[]) => ({
  id: "link:0197f000-0000-7000-8000-00000000abcd" as LinkId,
  name: "peer",
  peer: { environmentId: nobody, publicKey: String(generateKeyPairSync("x25519").publicKey.export({ format: "jwk" }).x) },
  grants: [...grants],
});
export const nobody = "env:0197f000-0000-7000-8000-00000000eeee" as EnvironmentId;
