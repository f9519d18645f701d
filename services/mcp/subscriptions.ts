import { ProtocolError, ProtocolErrorCode, type Server, type ServerContext } from "@modelcontextprotocol/server";
import type { Sight } from "./access.ts";
import type { ThreadNews } from "./thread-news.ts";
import { parseUri, threadUri } from "./uris.ts";

const maxSubscriptions = 1_000;

export type NewsOf = {
  news: ThreadNews;
  /** What the one who listens may see; without a request: as the connection stands. */
  sight(context: ServerContext | null): Sight | Promise<Sight>;
  /** Whether a thread that changed may be told, by what this connection has seen of its caller. */
  tells(sight: Sight, uri: string): boolean;
};

/** `resources/subscribe` and its news, for a connection that lives longer than one request. */
export function offerSubscriptions(server: Server, { news, sight, tells }: NewsOf): void {
  const subscribed = new Set<string>();
  let bound: Sight | null = null;
  let stop: (() => void) | null = null;
  server.setRequestHandler("resources/subscribe", async ({ params }, ctx) => {
    bound = await sight(ctx);
    if (subscribed.size >= maxSubscriptions)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `a connection has at most ${maxSubscriptions} subscriptions`);
    // Of what is not there, and of what does not change, nothing will ever be told.
    subscribed.add(plainUri(params.uri));
    stop ??= news.listen((threadId) => {
      const uri = threadUri(threadId);
      if (bound !== null && subscribed.has(uri) && tells(bound, uri)) tell(server, uri);
    });
    return {};
  });
  server.setRequestHandler("resources/unsubscribe", ({ params }) => {
    subscribed.delete(plainUri(params.uri));
    return {};
  });
  server.onclose = () => stop?.();
}

/** Tells of every thread that changes; something in front of the server chooses who hears of it. */
export function tellAll(server: Server, { news, sight, tells }: NewsOf): void {
  const stop = news.listen(async (threadId) => {
    const uri = threadUri(threadId);
    try {
      if (tells(await sight(null), uri)) tell(server, uri);
    } catch {
      // Nobody vouches for the caller any more: it is told nothing.
    }
  });
  server.onclose = stop;
}

function tell(server: Server, uri: string): void {
  // The other end may be gone; its connection's end will be noticed by itself.
  void server.sendResourceUpdated({ uri }).catch(() => {});
}

function plainUri(uri: string): string {
  const name = parseUri(uri);
  return name?.kind === "thread" ? threadUri(name.threadId) : uri;
}
