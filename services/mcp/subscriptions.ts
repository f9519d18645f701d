import { ProtocolError, ProtocolErrorCode, type Server, type ServerContext } from "@modelcontextprotocol/server";
import type { Sight } from "./access.ts";
import type { ThreadNews } from "./thread-news.ts";
import { parseUri, threadUri } from "./uris.ts";

const maxSubscriptions = 1_000;

export type NewsOf = {
  news: ThreadNews;
  /** What the one who listens may see now; without a request: as the connection stands. Throws when nobody vouches for it. */
  sight(context: ServerContext | null): Sight | Promise<Sight>;
  /** Whether a thread that changed may be told. */
  tells(sight: Sight, uri: string): boolean;
};

/** `resources/subscribe` and its news, for a connection that lives longer than one request. */
export function offerSubscriptions(server: Server, { news, sight, tells }: NewsOf): void {
  const subscribed = new Set<string>();
  let stop: (() => void) | null = null;
  server.setRequestHandler("resources/subscribe", async ({ params }, ctx) => {
    await sight(ctx);
    if (subscribed.size >= maxSubscriptions)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `a connection has at most ${maxSubscriptions} subscriptions`);
    // Of what is not there, and of what does not change, nothing will ever be told.
    subscribed.add(plainUri(params.uri));
    stop ??= news.listen(async (threadId) => {
      const uri = threadUri(threadId);
      if (subscribed.has(uri) && (await mayHear({ sight, tells }, uri))) tell(server, uri);
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
    if (await mayHear({ sight, tells }, uri)) tell(server, uri);
  });
  server.onclose = stop;
}

/** Asked for each piece of news: whom nobody vouches for any more is told nothing. */
async function mayHear({ sight, tells }: Pick<NewsOf, "sight" | "tells">, uri: string): Promise<boolean> {
  try {
    return tells(await sight(null), uri);
  } catch {
    return false;
  }
}

function tell(server: Server, uri: string): void {
  // The other end may be gone; its connection's end will be noticed by itself.
  void server.sendResourceUpdated({ uri }).catch(() => {});
}

function plainUri(uri: string): string {
  const name = parseUri(uri);
  return name?.kind === "thread" ? threadUri(name.threadId) : uri;
}
