import { randomUUID } from "node:crypto";
import { type AuthInfo, isInitializeRequest, type Server, WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import { callerName, type ToolCaller } from "./access.ts";
import { rpcError } from "./rpc-error.ts";

type Session = { owner: string; transport: WebStandardStreamableHTTPServerTransport; usedAt: number };

export type SessionRequest = { request: Request; body: unknown; caller: ToolCaller; authInfo: AuthInfo };

/** More than one machine's programs open; the one that has been silent longest makes room. */
const maxSessions = 500;
const idleMs = 6 * 60 * 60_000;

/**
 * The sessions of the protocol's 2025 revisions, by which a client takes back a call, hears of progress and follows
 * resources. A session belongs to the caller that opened it: nobody else finds it, whatever their token.
 */
export class McpSessions {
  readonly #makeServer: (request: Request, caller: ToolCaller) => Server;
  readonly #maxBodyBytes: number;
  readonly #sessions = new Map<string, Session>();

  constructor(makeServer: (request: Request, caller: ToolCaller) => Server, maxBodyBytes: number) {
    this.#makeServer = makeServer;
    this.#maxBodyBytes = maxBodyBytes;
  }

  async handle({ request, body, caller, authInfo }: SessionRequest): Promise<Response> {
    const id = request.headers.get("mcp-session-id");
    const options = { ...(body !== undefined && { parsedBody: body }), authInfo };
    if (id !== null) {
      const session = this.#sessions.get(id);
      if (session === undefined || session.owner !== callerName(caller))
        return rpcError(404, -32_001, "there is no such session; initialize anew");
      session.usedAt = Date.now();
      return session.transport.handleRequest(request, options);
    }
    const opens = request.method === "POST" && (Array.isArray(body) ? body.some(isInitializeRequest) : isInitializeRequest(body));
    if (!opens) return rpcError(400, -32_000, "a session is needed: initialize first, then send its mcp-session-id");
    const transport = await this.#open(request, caller);
    const response = await transport.handleRequest(request, options);
    // An initialization that was refused leaves no session behind.
    if (transport.sessionId === undefined) await transport.close();
    return response;
  }

  async close(): Promise<void> {
    await Promise.allSettled([...this.#sessions.values()].map(({ transport }) => transport.close()));
    this.#sessions.clear();
  }

  async #open(request: Request, caller: ToolCaller): Promise<WebStandardStreamableHTTPServerTransport> {
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      maxRequestBodySize: this.#maxBodyBytes,
      onsessioninitialized: (id) => {
        this.#makeRoom();
        this.#sessions.set(id, { owner: callerName(caller), transport, usedAt: Date.now() });
      },
      onsessionclosed: (id) => void this.#sessions.delete(id),
    });
    await this.#makeServer(request, caller).connect(transport);
    return transport;
  }

  #makeRoom(): void {
    const now = Date.now();
    const byUse = [...this.#sessions].sort(([, a], [, b]) => a.usedAt - b.usedAt);
    const tooMany = this.#sessions.size - maxSessions + 1;
    for (const [place, [id, { transport, usedAt }]] of byUse.entries()) {
      if (place >= tooMany && now - usedAt < idleMs) break;
      this.#sessions.delete(id);
      void transport.close().catch(() => {});
    }
  }
}
