import type { ClientResource } from "../schemas/client.ts";
import type { Caller } from "../schemas/command.ts";
import type { HttpConfig } from "../schemas/config.ts";
import { refusal } from "../schemas/refusal.ts";
import { createHttpApp, type HttpAppOptions } from "./http/app.ts";
import { readJson } from "./http/body.ts";
import { crossOrigin, preflight, readableBy } from "./http/network/cors.ts";
import { networkLimits } from "./http/network/limits.ts";
import { type NetworkRequest, type NetworkServer, serveNetwork } from "./http/network/listener.ts";
import { OpenRequests } from "./http/network/open-requests.ts";
import { problemResponse } from "./http/problem.ts";
import { bearerToken } from "./mcp/bearer.ts";
import type { McpOffer } from "./mcp/offer.ts";
import { createOAuthApp } from "./oauth/app.ts";
import { resourceMetadataUrl } from "./oauth/routes/metadata.ts";
import type { OAuth } from "./oauth/service.ts";
import type { Environment } from "./runtime/environment-api.ts";
import { packageVersion } from "./runtime/version.ts";

export type NetworkDoorOptions = {
  config: HttpConfig;
  api: Pick<HttpAppOptions, "maxBodyBytes" | "heartbeatMs" | "progressMs" | "coalesceMs">;
  /** Tools of the embedding program, beside the environment's own. */
  offer?: McpOffer | undefined;
  onError(error: Error): void;
  warn(facts: object, text: string): void;
};

export type NetworkDoor = {
  /** What programs are told; the API is at `/v1` below it, the tools at `/mcp`. */ readonly url: string;
  close(): Promise<void>;
};

/** The listener on the network: OAuth for whoever comes, the API and the tools for those that somebody vouches for (0104). */
export async function openNetworkDoor(environment: Environment, oauth: OAuth, options: NetworkDoorOptions): Promise<NetworkDoor> {
  const { maxBodyBytes } = options.api;
  const ending = new AbortController();
  const origins = new WeakMap<Request, string>();
  const open = new OpenRequests(networkLimits.requestsPerCaller);

  const callerOf = (token: string | null, resource: ClientResource): Caller | null =>
    token === null ? null : (environment.threadTools.callerOf(token) ?? oauth.callerOf(token, resource));
  const challenge = (resource: ClientResource) => (request: Request) => {
    const where = `resource_metadata="${resourceMetadataUrl(origins.get(request) ?? new URL(request.url).origin, resource)}"`;
    return bearerToken(request) === null ? where : `error="invalid_token", ${where}`;
  };
  const http = createHttpApp(environment, {
    ...options.api,
    callerOf: (request) => callerOf(bearerToken(request), "v1"),
    challenge: challenge("v1"),
    signal: ending.signal,
    onError: options.onError,
  });
  // The library is loaded with the first request that needs it: most starts of an environment serve none for a while.
  let loading: Promise<(request: Request) => Response | Promise<Response>> | null = null;
  const loadMcp = async () => {
    const { createMcpApp } = await import("./mcp/app.ts");
    const app = createMcpApp(
      environment,
      { authenticate: (request) => callerOf(bearerToken(request), "mcp") },
      {
        version: packageVersion(),
        readBody: readJson,
        ...(maxBodyBytes !== undefined && { maxBodyBytes: maxBodyBytes + wrappingBytes }),
        ...(options.offer !== undefined && { offer: options.offer }),
        challenge: challenge("mcp"),
        signal: ending.signal,
        onError: (error) => options.onError(error instanceof Error ? error : new Error(String(error))),
      },
    );
    return (request: Request) => app.fetch(request);
  };
  const mcp = async (request: Request) => {
    loading ??= loadMcp();
    return (await loading)(request);
  };
  const oauthApp = createOAuthApp(oauth, options.onError);

  /** For those who show a token that is good: how many they have open is bounded, and all of it ends with the token. */
  function held(come: NetworkRequest, resource: ClientResource, answer: (request: Request) => Response | Promise<Response>) {
    const token = bearerToken(come.request);
    const caller = callerOf(token, resource);
    if (caller !== null) {
      come.isKnown();
      if (!open.add(nameOf(caller), come.outgoing, () => callerOf(token, resource) !== null)) return problemResponse(tooManyOpen, {}, soon);
    }
    origins.set(come.request, come.origin);
    return answer(come.request);
  }
  const answer = async (come: NetworkRequest) => {
    const from = crossOrigin(come.request, come.origin);
    // The page on which a person decides is nobody's to read.
    if (from === null || isBelow(new URL(come.request.url).pathname, "/oauth/authorize")) return answered(come);
    return preflight(come.request, from) ?? readableBy(from, await answered(come));
  };
  const answered = (come: NetworkRequest) => {
    const { pathname } = new URL(come.request.url);
    if (isBelow(pathname, "/mcp")) return held(come, "mcp", mcp);
    if (isBelow(pathname, "/v1")) return held(come, "v1", (request) => http.fetch(request));
    if (isBelow(pathname, "/oauth") || isBelow(pathname, "/.well-known"))
      return oauthApp.fetch(come.request, { origin: come.origin, address: come.address });
    return problemResponse(nothingHere);
  };

  const dir = environment.dir;
  const servers: NetworkServer[] = [];
  const recheck = () => open.recheck();
  const listening = [oauth.clients.onRevoked(recheck), environment.threadTools.onRevoked(recheck)];
  const rechecking = setInterval(recheck, networkLimits.recheckMs);
  rechecking.unref();
  const close = async () => {
    environment.threadTools.servedAt(null);
    ending.abort();
    await Promise.all(servers.map((server) => server.close()));
    clearInterval(rechecking);
    for (const stop of listening) stop();
    oauth.clients.flush();
  };
  try {
    const server = await serveNetwork({ config: options.config, dir, answer, warn: options.warn });
    servers.push(server);
    environment.threadTools.servedAt(`${await agentsUrl(server)}/mcp`);
    return { url: server.url, close };
  } catch (error) {
    await close();
    throw error;
  }

  /** Where agents of this machine find their tools: here, or beside a server whose certificate is hardly good for loopback. */
  async function agentsUrl(server: NetworkServer): Promise<string> {
    if (!server.isTls) return server.localUrl;
    const agentsOnly = (come: NetworkRequest) => {
      const isAgent = environment.threadTools.callerOf(bearerToken(come.request) ?? "") !== null;
      return isAgent && isBelow(new URL(come.request.url).pathname, "/mcp") ? held(come, "mcp", mcp) : problemResponse(agentsAlone);
    };
    const beside = await serveNetwork({ config: { port: 0 }, dir, answer: agentsOnly, warn: options.warn });
    servers.push(beside);
    return beside.localUrl;
  }
}

/** What the protocol puts around an import. */
const wrappingBytes = 1024 * 1024;

const isBelow = (path: string, top: string) => path === top || path.startsWith(`${top}/`);

function nameOf(caller: Caller): string {
  if (caller.kind === "thread") return caller.threadId;
  return caller.kind === "client" ? caller.clientId : caller.kind;
}

const soon = { "retry-after": "1" };
const tooManyOpen = refusal(
  "orchestration_error",
  "too_many_requests",
  `a caller has at most ${networkLimits.requestsPerCaller} requests and streams open at once`,
  "End some of them, or wait until they are answered.",
);
const nothingHere = refusal("invalid_request", "unknown_route", "nothing answers here", "The API is at /v1, the tools (MCP) at /mcp.");
const agentsAlone = refusal(
  "capability_denied",
  "unknown_caller",
  "this address is for agents of this machine",
  "Use the environment's own address.",
);
