import type { Duplex } from "node:stream";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import { limits } from "../../schemas/limits.ts";
import type { Environment } from "../runtime/environment-api.ts";
import { type McpAccess, narrowed } from "./access.ts";
import type { McpOffer } from "./offer.ts";
import type { Profile } from "./profile.ts";
import { refuse } from "./refused.ts";
import { isSendersFault } from "./senders-fault.ts";
import { createMcpServer, type McpParts } from "./server.ts";
import { ThreadNews } from "./thread-news.ts";

export type McpStreamOptions = {
  version?: string;
  /** How many tools are listed; default small for a thread's agent, full for the others. */
  profile?: Profile | undefined;
  /** What an embedding program has beside. */
  offer?: McpOffer | undefined;
  onError?: (error: unknown) => void;
};

/**
 * Serves MCP over one byte stream, a JSON document a line: what `ropewalk mcp` puts between an agent's standard input and
 * output and the environment's socket. `request` is what opened it; who that is, is asked anew for each call and each piece
 * of news. Ends with the stream, and with the token that it was opened by.
 */
export function serveMcpStream(
  environment: Environment,
  access: McpAccess,
  stream: Duplex,
  request: Request,
  options: McpStreamOptions = {},
): { close(): Promise<void> } {
  const news = new ThreadNews(environment);
  const parts: McpParts = { environment, news, version: options.version ?? "0.0.0", offer: options.offer, onError: options.onError };
  const caller = async () => {
    const known = await access.authenticate(request);
    if (known === null) refuse("capability_denied", "token_revoked", "nobody vouches for this caller any more", "Connect anew.");
    return narrowed(known, request.headers);
  };
  const transport = new StdioServerTransport(stream, stream, { maxBufferSize: limits.importRequestBytes * 2 });
  const handle = serveStdio(
    async ({ era }) => {
      const profile = options.profile ?? ((await caller()).kind === "thread" ? "small" : "full");
      return createMcpServer(parts, { caller, profile, news: era === "modern" ? "every" : "subscribed" });
    },
    {
      transport,
      onerror(error) {
        if (!isSendersFault(error)) options.onError?.(error);
      },
    },
  );
  // A token that is taken back ends what it opened, in the middle of a call too (decision 0104).
  const endIfRevoked = async () => {
    if ((await access.authenticate(request)) !== null) return;
    await handle.close().catch(() => {});
    stream.end();
  };
  const stopListening = environment.threadTools.onRevoked(() => void endIfRevoked().catch((error) => options.onError?.(error)));
  stream.once("close", stopListening);
  stream.once("end", () => stream.end());
  stream.once("close", () => void handle.close().catch(() => {}));
  stream.once("error", () => stream.destroy());
  return handle;
}
