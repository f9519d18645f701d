import { Hono } from "hono";
import { ItemId, ThreadId } from "../../../schemas/ids.ts";
import type { Environment } from "../../runtime/environment-api.ts";
import { count, found, pathId, query } from "../input.ts";
import { invalid } from "../statuses.ts";
import { bounds } from "../sync/bounds.ts";
import { EnvironmentChanges } from "../sync/environment-changes.ts";
import { environmentSnapshot, olderThreads } from "../sync/environment-snapshot.ts";
import type { LiveSettings } from "../sync/live.ts";
import { liveResponse, viewResponse } from "../sync/respond.ts";
import { threadSource } from "../sync/thread-live.ts";
import { olderTurns, threadSnapshot } from "../sync/thread-snapshot.ts";

export function syncRoutes(environment: Environment, settings: LiveSettings): Hono {
  const known = (after: number) => {
    if (after <= environment.lastCommit) return after;
    throw invalid(
      "ahead_of_store",
      `this environment's last commit is ${environment.lastCommit}, not ${after}`,
      "Read a snapshot again: the store is another than the one that was read before.",
      { lastCommit: environment.lastCommit },
    );
  };
  return new Hono()
    .get("/view", async (c) => {
      const { limit = bounds.threads, before } = query(c, { limit: count(bounds.mostThreads).optional(), before: ThreadId.optional() });
      return viewResponse(c.req.raw, before === undefined ? await environmentSnapshot(environment, limit) : await olderThreads(environment, limit, before));
    })
    .get("/live", (c) => {
      const { after } = query(c, { after: count(Number.MAX_SAFE_INTEGER) });
      return liveResponse(c.req.raw, environment, new EnvironmentChanges(environment, known(after)), settings);
    })
    .get("/threads/:id/view", async (c) => {
      const id = pathId(c, "id", ThreadId);
      const { limit = bounds.items, before } = query(c, { limit: count(bounds.mostItems).optional(), before: ItemId.optional() });
      if (before === undefined) return viewResponse(c.req.raw, found(await threadSnapshot(environment, id, limit), "thread", id));
      const item = found(environment.threads.item(before), "item", before);
      return viewResponse(c.req.raw, found(await olderTurns(environment, id, item, limit), "item", before));
    })
    .get("/threads/:id/live", (c) => {
      const id = pathId(c, "id", ThreadId);
      const { after } = query(c, { after: count(Number.MAX_SAFE_INTEGER) });
      found(environment.threads.get(id), "thread", id);
      return liveResponse(c.req.raw, environment, threadSource(environment, id, known(after)), settings);
    });
}
