import { Hono } from "hono";
import { ThreadId } from "../../../schemas/ids.ts";
import type { Environment } from "../../runtime/environment-api.ts";
import { feedStream } from "../feed.ts";
import { count, found, query } from "../input.ts";
import { invalid } from "../statuses.ts";

export type FeedSettings = { heartbeatMs: number; progressMs: number; signal: AbortSignal };

/** `GET /feed?after=N`: see client/feed-line.ts for the lines. */
export function feedRoutes(environment: Environment, settings: FeedSettings): Hono {
  return new Hono().get("/feed", (c) => {
    const { after, thread } = query(c, { after: count(Number.MAX_SAFE_INTEGER), thread: ThreadId.optional() });
    if (after > environment.lastCommit) {
      throw invalid(
        "ahead_of_store",
        `this environment's last commit is ${environment.lastCommit}, not ${after}`,
        "Read a snapshot again and follow from its commit: the store is another than the one that was read before.",
        { lastCommit: environment.lastCommit },
      );
    }
    if (thread !== undefined) found(environment.threads.get(thread), "thread", thread);
    return c.body(feedStream(environment, { after, thread, ...settings }), 200, {
      "content-type": "application/x-ndjson",
      "transfer-encoding": "chunked",
      "cache-control": "no-store",
    });
  });
}
