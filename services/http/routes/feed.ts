import { ThreadId } from "../../../schemas/ids.ts";
import type { Environment } from "../../runtime/environment-api.ts";
import { feedStream } from "../feed.ts";
import { FeedLine } from "../feed-line.ts";
import { count, found } from "../input.ts";
import { type Route, route } from "../route.ts";
import { invalid } from "../statuses.ts";

export type FeedSettings = { heartbeatMs: number; progressMs: number; signal: AbortSignal };

export function feedRoutes(environment: Environment, settings: FeedSettings): Route[] {
  return [
    route({
      method: "GET",
      path: "/feed",
      name: "follow",
      about: "feed",
      summary: "Committed changes after a commit, then whatever is committed from then on, a line of JSON each.",
      access: "reads",
      query: { after: count(Number.MAX_SAFE_INTEGER), thread: ThreadId.optional() },
      answer: { kind: "lines", schema: FeedLine },
      refuses: ["thread_not_found"],
      handle({ query: { after, thread } }) {
        if (after > environment.lastCommit) {
          throw invalid(
            "ahead_of_store",
            `this environment's last commit is ${environment.lastCommit}, not ${after}`,
            "Read a snapshot again and follow from its commit: the store is another than the one that was read before.",
            { lastCommit: environment.lastCommit },
          );
        }
        if (thread !== undefined) found(environment.threads.get(thread), "thread", thread);
        return new Response(feedStream(environment, { after, thread, ...settings }), {
          headers: {
            "content-type": "application/x-ndjson",
            "transfer-encoding": "chunked",
            "cache-control": "no-store",
          },
        });
      },
    }),
  ];
}
