import { Hono } from "hono";
import { chartOf } from "../../../actors/chart.ts";
import { renderMermaid } from "../../../actors/mermaid.ts";
import { ActorKind } from "../../../schemas/ids.ts";
import { parsed } from "../input.ts";

/** The statecharts, as the running program has them: what is legal in which state, and a drawing. */
export function chartRoutes(): Hono {
  return new Hono()
    .get("/charts", (c) => c.json({ kinds: ActorKind.options }))
    .get("/charts/:kind", (c) => {
      const chart = chartOf(parsed(ActorKind, c.req.param("kind"), "kind"));
      return c.json({ ...chart, mermaid: renderMermaid(chart) });
    });
}
