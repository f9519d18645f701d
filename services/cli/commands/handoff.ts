import { Command } from "commander";
import type { ContextHandoff } from "../../../schemas/handoff.ts";
import type { HandoffId } from "../../../schemas/ids.ts";
import type { LocalClient } from "../../http/client.ts";
import { badInput } from "../failure.ts";
import { resolve } from "../references.ts";
import { online } from "../session.ts";
import { facts } from "../table.ts";
import { clean, style } from "../terminal.ts";
import { ago } from "../time.ts";

export function handoffCommand(): Command {
  const command = new Command("handoff").description("what an agent was told of a history that it had not seen");
  command
    .command("show")
    .description("one handoff: exactly what was told, how large it was allowed to be, and what was left out")
    .argument("<handoff|transfer>", "id, a unique beginning of it, or @last")
    .action(
      online(async (shell, client, { args: [ref] }) => {
        const answer = await client.handoff(await handoffId(client, ref));
        shell.answer(answer, () => told(answer.handoff));
        return undefined;
      }),
    );
  return command;
}

/** The handoff itself, or the one of a transfer. */
async function handoffId(client: LocalClient, ref: string | undefined): Promise<HandoffId> {
  if (ref?.startsWith("transfer:") !== true) return resolve(client, "handoff", ref);
  const { transfer, handoffs } = await client.transfer(await resolve(client, "transfer", ref));
  const last = handoffs.at(-1);
  if (last === undefined)
    throw badInput("no_handoff", `${transfer.id} has no handoff`, "It is waiting, or it was exact: nothing had to be retold.");
  return last.id;
}

const reasons = {
  over_budget: "over the budget",
  not_retold_kind: "of a kind that is not retold",
  truncated_output: "cut output",
} as const;

function told(handoff: ContextHandoff): string {
  const left = Object.entries(Object.groupBy(handoff.leftOut, (l) => l.reason)).map(
    ([reason, all]) => `${all?.length ?? 0} ${reasons[reason as keyof typeof reasons]}`,
  );
  return [
    facts([
      ["handoff", `${handoff.id} (${handoff.kind.replaceAll("_", " ")})`],
      ["for", handoff.transferId],
      ["covers", handoff.covers.map((c) => `run ${c.ordinal} of ${c.threadId}`).join(", ") || "no runs"],
      ["size", `${handoff.size} of ${handoff.budget.limit} ${handoff.budget.unit}`],
      ["left out", left.join(", ") || "nothing"],
      ["digest", handoff.digest],
      ["made", ago(handoff.createdAt)],
    ]),
    style("dim", "── told ──"),
    clean(handoff.payload),
  ].join("\n");
}
