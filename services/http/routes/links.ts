import { Hono } from "hono";
import { LinkId, RequestId } from "../../../schemas/ids.ts";
import type { Environment } from "../../runtime/environment-api.ts";
import { count, found, pathId, query } from "../input.ts";
import { maxWaitMs, usualWaitMs } from "../page.ts";

export function linkRoutes(environment: Environment): Hono {
  const { links } = environment;
  return new Hono()
    .get("/links", (c) => c.json({ commit: environment.lastCommit, links: links.list() }))
    .get("/links/:id", (c) => {
      const id = pathId(c, "id", LinkId);
      return c.json({ commit: environment.lastCommit, link: found(links.get(id), "link", id) });
    })
    .get("/requests/:id/wait", async (c) => {
      const id = pathId(c, "id", RequestId);
      const { timeoutMs = usualWaitMs } = query(c, { timeoutMs: count(maxWaitMs).optional() });
      // Null while it is open; the request itself goes on, whoever waits.
      const answer = await links.answer(id, { timeoutMs });
      return c.json({ commit: environment.lastCommit, answer });
    });
}
