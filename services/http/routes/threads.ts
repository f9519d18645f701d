import { Hono } from "hono";
import type { z } from "zod";
import { ThreadId } from "../../../schemas/ids.ts";
import type { Environment } from "../../runtime/environment-api.ts";
import { count, flag, found, pathId, query } from "../input.ts";
import { maxPage, usualPage } from "../page.ts";

const itemPage = {
  limit: count(maxPage).optional(),
  /** Items to pass over. Items that come in meanwhile move what is counted from the newest end. */
  offset: count(1_000_000).optional(),
  newestFirst: flag.optional(),
  ownOnly: flag.optional(),
};
type ItemPage = { [name in keyof typeof itemPage]?: z.output<(typeof itemPage)[name]> };

export function threadRoutes(environment: Environment): Hono {
  const { threads } = environment;
  const need = (id: ThreadId) => found(threads.get(id), "thread", id);
  const items = (id: ThreadId, { limit = usualPage, offset = 0, newestFirst = false, ownOnly = false }: ItemPage) =>
    threads.items(id, { limit: offset + limit, newestFirst, ownOnly }).slice(offset);

  return new Hono()
    .get("/threads", (c) => {
      const { parent, includeDeleted, limit } = query(c, {
        parent: ThreadId.optional(),
        includeDeleted: flag.optional(),
        limit: count(maxPage).optional(),
      });
      const filter = { includeDeleted: includeDeleted ?? false, limit: limit ?? usualPage };
      return c.json({ commit: environment.lastCommit, threads: threads.list(parent === undefined ? filter : { ...filter, parent }) });
    })
    .get("/threads/:id", (c) => {
      const id = pathId(c, "id", ThreadId);
      return c.json({ commit: environment.lastCommit, thread: need(id) });
    })
    .get("/threads/:id/items", (c) => {
      const id = pathId(c, "id", ThreadId);
      need(id);
      return c.json({ commit: environment.lastCommit, items: items(id, query(c, itemPage)) });
    })
    .get("/threads/:id/runs", (c) => {
      const id = pathId(c, "id", ThreadId);
      need(id);
      return c.json({ commit: environment.lastCommit, runs: threads.runs(id) });
    })
    .get("/threads/:id/checkpoints", (c) => {
      const id = pathId(c, "id", ThreadId);
      need(id);
      return c.json({ commit: environment.lastCommit, checkpoints: threads.checkpoints(id) });
    })
    .get("/threads/:id/provider-threads", (c) => {
      const id = pathId(c, "id", ThreadId);
      need(id);
      return c.json({ commit: environment.lastCommit, providerThreads: threads.providerThreads(id) });
    })
    .get("/threads/:id/snapshot", (c) => {
      const id = pathId(c, "id", ThreadId);
      const thread = need(id);
      const page = query(c, itemPage);
      // All of it is read in one go, so that the feed after `commit` neither misses nor repeats anything.
      return c.json({
        commit: environment.lastCommit,
        thread,
        runs: threads.runs(id),
        items: items(id, page),
        transfers: threads.transfers(id),
        tasks: threads.tasks(id),
        progress: thread.activeRunId === null ? null : environment.runs.progress(thread.activeRunId),
      });
    });
}
