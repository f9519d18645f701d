import { Argument, Command, Option } from "commander";
import type { ActorKind } from "../../../schemas/ids.ts";
import { offline } from "../session.ts";

const actorKinds: readonly ActorKind[] = ["thread", "run", "transfer", "task", "link", "move"];

type Options = { format: "mermaid" | "json" };

export function chartsCommand(): Command {
  return new Command("charts")
    .description("the statecharts that decide what is legal, as Mermaid diagrams or as data; needs no environment")
    .addArgument(new Argument("[kind]", "which").choices(actorKinds))
    .addOption(new Option("--format <format>", "how").choices(["mermaid", "json"]).default("mermaid"))
    .action(
      offline<Options>(async (shell, { args: [kind], options }) => {
        const [{ chartOf }, { renderMermaid }] = await Promise.all([
          import("../../../actors/chart.ts"),
          import("../../../actors/mermaid.ts"),
        ]);
        const kinds = kind === undefined ? actorKinds : [kind as ActorKind];
        const charts = kinds.map((each) => chartOf(each));
        if (shell.json || options.format === "json")
          process.stdout.write(`${JSON.stringify(kind === undefined ? { charts } : charts[0])}\n`);
        else
          shell.print(
            charts.map((chart) => (kind === undefined ? `%% ${chart.kind}\n${renderMermaid(chart)}` : renderMermaid(chart))).join("\n"),
          );
        return undefined;
      }),
    );
}
