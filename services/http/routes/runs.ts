import { Hono } from "hono";
import { z } from "zod";
import { RunId } from "../../../schemas/ids.ts";
import type { Environment } from "../../runtime/environment-api.ts";
import { count, found, pathId, query } from "../input.ts";
import { maxWaitMs, usualWaitMs } from "../page.ts";

export function runRoutes(environment: Environment): Hono {
  const { runs } = environment;
  return new Hono()
    .get("/runs/:id", (c) => {
      const id = pathId(c, "id", RunId);
      return c.json({ commit: environment.lastCommit, run: found(runs.get(id), "run", id), progress: runs.progress(id) });
    })
    .get("/runs/:id/wait", async (c) => {
      const id = pathId(c, "id", RunId);
      const { timeoutMs = usualWaitMs, until = "ended_or_waiting" } = query(c, {
        timeoutMs: count(maxWaitMs).optional(),
        until: z.enum(["ended", "ended_or_waiting"]).optional(),
      });
      found(runs.get(id), "run", id);
      const run = await runs.wait(id, { timeoutMs, until });
      return c.json({ commit: environment.lastCommit, run: found(run, "run", id) });
    });
}
