import { Hono } from "hono";
import { HandoffId, ThreadId, TransferId } from "../../../schemas/ids.ts";
import type { ContextTransfer } from "../../../schemas/transfer.ts";
import type { Environment } from "../../runtime/environment-api.ts";
import { count, found, pathId, query } from "../input.ts";
import { maxPage, usualPage } from "../page.ts";

export function transferRoutes(environment: Environment): Hono {
  const { transfers } = environment;
  return new Hono()
    .get("/transfers", (c) => {
      const { target, source, limit } = query(c, {
        target: ThreadId.optional(),
        source: ThreadId.optional(),
        limit: count(maxPage).optional(),
      });
      const listed = transfers.list({
        limit: limit ?? usualPage,
        ...(target !== undefined && { target }),
        ...(source !== undefined && { source }),
      });
      return c.json({ commit: environment.lastCommit, transfers: listed, leftOut: leftOut(environment, listed) });
    })
    .get("/transfers/:id", (c) => {
      const id = pathId(c, "id", TransferId);
      const transfer = found(transfers.get(id), "transfer", id);
      return c.json({
        commit: environment.lastCommit,
        transfer,
        history: transfers.history(id),
        handoffs: transfers.handoffsOf(id),
        leftOut: leftOut(environment, [transfer]),
      });
    })
    .get("/transfers/:id/history", (c) => {
      const id = pathId(c, "id", TransferId);
      found(transfers.get(id), "transfer", id);
      return c.json({ commit: environment.lastCommit, history: transfers.history(id) });
    })
    .get("/handoffs/:id", (c) => {
      const id = pathId(c, "id", HandoffId);
      return c.json({ commit: environment.lastCommit, handoff: found(transfers.handoff(id), "handoff", id) });
    });
}

/** How many items each retold transfer left out; what people are shown beside its status (decision 49). */
function leftOut(environment: Environment, transfers: readonly ContextTransfer[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { id, resolution } of transfers) {
    if (resolution === null || resolution.kind === "native_fork") continue;
    counts[id] = environment.transfers.handoff(resolution.contextHandoffId)?.leftOut.length ?? 0;
  }
  return counts;
}
