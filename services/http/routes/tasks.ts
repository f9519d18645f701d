import { Hono } from "hono";
import { TaskId, ThreadId } from "../../../schemas/ids.ts";
import type { Environment } from "../../runtime/environment-api.ts";
import { count, flag, found, pathId, query } from "../input.ts";
import { maxPage, maxWaitMs, usualPage, usualWaitMs } from "../page.ts";

export function taskRoutes(environment: Environment): Hono {
  const { tasks } = environment;
  return new Hono()
    .get("/tasks", (c) => {
      const { parent, open, limit } = query(c, {
        parent: ThreadId.optional(),
        open: flag.optional(),
        limit: count(maxPage).optional(),
      });
      const listed = tasks.list({
        limit: limit ?? usualPage,
        ...(parent !== undefined && { parent }),
        ...(open !== undefined && { open }),
      });
      return c.json({ commit: environment.lastCommit, tasks: listed });
    })
    .get("/tasks/:id", (c) => {
      const id = pathId(c, "id", TaskId);
      return c.json({ commit: environment.lastCommit, task: found(tasks.get(id), "task", id) });
    })
    .get("/tasks/:id/wait", async (c) => {
      const id = pathId(c, "id", TaskId);
      const { timeoutMs = usualWaitMs } = query(c, { timeoutMs: count(maxWaitMs).optional() });
      found(tasks.get(id), "task", id);
      const task = await tasks.wait(id, { timeoutMs });
      return c.json({ commit: environment.lastCommit, task: found(task, "task", id) });
    });
}
