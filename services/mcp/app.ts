import { type AuthInfo, createMcpHandler, InMemoryServerEventBus, isLegacyRequest, type ServerContext } from "@modelcontextprotocol/server";
import { Hono } from "hono";
import { limits } from "../../schemas/limits.ts";
import type { Environment } from "../runtime/environment-api.ts";
import { callerName, type McpAccess, narrowed, Sight, type ToolCaller } from "./access.ts";
import { type BodyReader, bodyOf } from "./body.ts";
import type { McpOffer } from "./offer.ts";
import { isProfile, type Profile, profiles } from "./profile.ts";
import { refuse, toldOf } from "./refused.ts";
import { rpcError } from "./rpc-error.ts";
import { isSendersFault } from "./senders-fault.ts";
import { createMcpServer, type McpParts } from "./server.ts";
import { McpSessions } from "./sessions.ts";
import { ThreadNews } from "./thread-news.ts";
import { threadUri } from "./uris.ts";

export type McpAppOptions = {
  /** The package's version, which a client is told. */
  version?: string;
  /** Largest request; default 64 MiB and what the protocol puts around it. */
  maxBodyBytes?: number;
  readBody?: BodyReader;
  /** What an embedding program has beside. */
  offer?: McpOffer;
  /** Parameters of the `WWW-Authenticate: Bearer` that an unknown caller is answered, e.g. where to look for OAuth. */
  challenge?: (request: Request) => string;
  /** Told of errors that nobody foresaw. */
  onError?: (error: unknown) => void;
  /** Ends open sessions and streams. */
  signal?: AbortSignal;
};

/** What the protocol itself puts around an import. */
const wrappingBytes = 1024 * 1024;

/**
 * The MCP server over streamable HTTP, for the place it is mounted at: protocol 2026-07-28 request by request, 2025
 * revisions by session. Who calls is asked of `access` for every request; Host, Origin and TLS are the listener's.
 * `?profile=small|full` says how many tools are listed; default: small for a thread's agent, full for the others.
 */
export function createMcpApp(environment: Environment, access: McpAccess, options: McpAppOptions = {}): Hono {
  const maxBodyBytes = options.maxBodyBytes ?? limits.importRequestBytes + wrappingBytes;
  const news = new ThreadNews(environment);
  const parts: McpParts = { environment, news, version: options.version ?? "0.0.0", offer: options.offer, onError: options.onError };
  const onerror = (error: Error) => {
    if (!isSendersFault(error)) options.onError?.(error);
  };
  const bus = new InMemoryServerEventBus(onerror);
  const modern = createMcpHandler(
    ({ authInfo, requestInfo }) =>
      createMcpServer(parts, { caller: callerIn, profile: profileOf(requestInfo, callerOf(authInfo)), news: "none" }),
    { legacy: "reject", bus, onerror, maxRequestBodySize: maxBodyBytes },
  );
  const sessions = new McpSessions((request, opener) => {
    // Between requests it is whoever opened it: the listener ends a stream with the token that it was opened by.
    const caller = (context: ServerContext | null) => (context === null ? opener : callerIn(context));
    return createMcpServer(parts, { caller, profile: profileOf(request, opener), news: "subscribed" });
  }, maxBodyBytes);
  const following = new BusNews(news, bus);
  options.signal?.addEventListener("abort", () => {
    following.stop();
    void Promise.allSettled([sessions.close(), modern.close()]);
  });

  const app = new Hono().onError((error) => {
    options.onError?.(error);
    return rpcError(500, -32_603, "the environment could not answer this request");
  });
  return app.all("*", async (c) => {
    const request = c.req.raw;
    const known = await access.authenticate(request);
    if (known === null) return unauthorized(options.challenge?.(request));
    let caller: ToolCaller;
    try {
      caller = narrowed(known, request.headers);
      profileOf(request, caller);
    } catch (error) {
      const { code, reason, message, hint } = toldOf(error);
      return rpcError(code === "invalid_request" ? 400 : 403, -32_600, `${message} ${hint}`, { data: { code, reason, hint } });
    }
    const authInfo = asAuthInfo(caller);
    if (request.method !== "POST") return sessions.handle({ request, body: undefined, caller, authInfo });
    const body = await bodyOf(request, maxBodyBytes, options.readBody);
    if (!body.ok) return body.response;
    if (await isLegacyRequest(request, body.value)) return sessions.handle({ request, body: body.value, caller, authInfo });
    if ((body.value as { method?: unknown } | null)?.method === "subscriptions/listen") {
      // This stream is the library's own, and shows every thread to whoever asks.
      if (new Sight(environment, caller).stamp !== null) return rpcError(403, -32_600, "what a link started cannot follow threads");
      following.start();
    }
    return modern.fetch(request, { authInfo, parsedBody: body.value });
  });
}

/** Puts changed threads on the library's bus while somebody listens there. */
class BusNews {
  readonly #news: ThreadNews;
  readonly #bus: InMemoryServerEventBus;
  #stop: (() => void) | null = null;
  /** Whether there was a listener since the start; the first comes a moment after it. */
  #heard = false;

  constructor(news: ThreadNews, bus: InMemoryServerEventBus) {
    this.#news = news;
    this.#bus = bus;
  }

  start(): void {
    this.#heard = false;
    this.#stop ??= this.#news.listen((id) => {
      const heard = this.#bus.listenerCount > 0;
      if (heard) this.#bus.publish({ kind: "resource_updated", uri: threadUri(id) });
      else if (this.#heard) this.stop();
      this.#heard ||= heard;
    });
  }

  stop(): void {
    this.#stop?.();
    this.#stop = null;
  }
}

/** The caller travels with its request through the library, in the place of what a token says. */
function asAuthInfo(caller: ToolCaller): AuthInfo {
  return { token: "", clientId: callerName(caller), scopes: [], extra: { caller } };
}

function callerOf(authInfo: AuthInfo | undefined): ToolCaller {
  return (authInfo?.extra?.caller as ToolCaller | undefined) ?? unknownCaller();
}

function unknownCaller(): never {
  refuse("capability_denied", "unknown_caller", "nobody vouches for this caller", "Authenticate, then call again.");
}

const callerIn = (context: ServerContext | null): ToolCaller => callerOf(context?.http?.authInfo);

function profileOf(request: Request | undefined, caller: ToolCaller): Profile {
  const wished = request === undefined ? null : new URL(request.url).searchParams.get("profile");
  if (wished === null) return caller.kind === "thread" ? "small" : "full";
  if (isProfile(wished)) return wished;
  refuse("invalid_request", "unknown_profile", `there is no profile ${wished}`, `The profiles are: ${profiles.join(", ")}.`);
}

function unauthorized(challenge: string | undefined): Response {
  const header = ["Bearer", 'realm="ropewalk"', challenge].filter((part) => part !== undefined && part !== "");
  return rpcError(401, -32_000, "nobody vouches for this caller", {
    headers: { "www-authenticate": `${header[0]} ${header.slice(1).join(", ")}` },
  });
}
