import { chartOf } from "../../../actors/chart.ts";
import { renderMermaid } from "../../../actors/mermaid.ts";
import { ActorKind } from "../../../schemas/ids.ts";
import { ChartAnswer, ChartsAnswer } from "../answers.ts";
import { type Route, route } from "../route.ts";

/** The statecharts, as the running program has them: what is legal in which state, and a drawing. */
export function chartRoutes(): Route[] {
  return [
    route({
      method: "GET",
      path: "/charts",
      name: "listCharts",
      about: "charts",
      summary: "The kinds of actors that have a statechart.",
      access: "reads",
      answer: { kind: "json", schema: ChartsAnswer },
      handle: () => ({ kinds: [...ActorKind.options] }),
    }),
    route({
      method: "GET",
      path: "/charts/:kind",
      name: "getChart",
      about: "charts",
      summary: "A statechart: its states, what is legal in each, and a drawing.",
      access: "reads",
      params: { kind: ActorKind },
      answer: { kind: "json", schema: ChartAnswer },
      handle({ params }) {
        const chart = chartOf(params.kind);
        return { ...chart, mermaid: renderMermaid(chart) };
      },
    }),
  ];
}
