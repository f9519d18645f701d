import { Command } from "commander";
import type { ThreadId } from "../../../schemas/ids.ts";
import type { TransferAnswer, TransfersAnswer } from "../../http/client/answers.ts";
import { resolve } from "../references.ts";
import { online } from "../session.ts";
import { shortIds } from "../short-ids.ts";
import { facts, table } from "../table.ts";
import { style } from "../terminal.ts";
import { ago } from "../time.ts";
import { relationshipWords, transferWords } from "../words.ts";

export function transferCommand(): Command {
  const command = new Command("transfer").description("what joins a thread to another, or to the agent that serves it next");
  command
    .command("list")
    .description("transfers to a thread, or all")
    .argument("[thread]", "id, a unique beginning of it, or @last")
    .action(
      online(async (shell, client, { args: [ref] }) => {
        const target = ref === undefined ? undefined : await resolve(client, "thread", ref);
        const answer = await client.transfers(target === undefined ? {} : { target });
        answer.transfers.sort((a, b) => (a.id < b.id ? 1 : -1));
        shell.answer(answer, () => (answer.transfers.length === 0 ? "no transfers" : listed(answer)));
        return undefined;
      }),
    );
  command
    .command("show")
    .description("one transfer, and every status that it had")
    .argument("<transfer>", "id, a unique beginning of it, or @last")
    .action(
      online(async (shell, client, { args: [ref] }) => {
        const answer = await client.transfer(await resolve(client, "transfer", ref));
        shell.answer(answer, () => told(answer));
        return undefined;
      }),
    );
  return command;
}

function listed({ transfers, leftOut }: TransfersAnswer): string {
  const short = shortIds(transfers.map((t) => t.id));
  const threads = shortIds([...new Set(transfers.flatMap((t) => [t.sourceThreadId, t.targetThreadId]))]);
  const name = (id: ThreadId) => threads.get(id) ?? id;
  return table(
    transfers.map((t) => [
      relationshipWords[t.type],
      style("dim", short.get(t.id) ?? t.id),
      t.sourceThreadId === t.targetThreadId ? name(t.targetThreadId) : `${name(t.sourceThreadId)} → ${name(t.targetThreadId)}`,
      transferWords(t, leftOut[t.id]),
      ago(t.createdAt),
    ]),
    3,
  );
}

function told({ transfer, history, handoffs, leftOut }: TransferAnswer): string {
  const point = transfer.sourcePoint;
  const steps = history.map((s) => [`  ${ago(s.at)}`, s.from === null ? s.to : `${s.from} → ${s.to}`, style("dim", `commit ${s.commit}`)]);
  return [
    facts([
      [relationshipWords[transfer.type], transfer.id],
      ["status", transferWords(transfer, leftOut[transfer.id])],
      [
        "from",
        `${transfer.sourceThreadId}${point.ordinal === null ? "" : ` at run ${point.ordinal}`}${transfer.sourceProvider === null ? "" : ` (${transfer.sourceProvider})`}`,
      ],
      ["to", `${transfer.targetThreadId}${transfer.targetProvider === null ? "" : ` (${transfer.targetProvider})`}`],
      transfer.basePoint?.ordinal == null ? null : ["since", `run ${transfer.basePoint.ordinal}`],
      transfer.consumedByRunId === null ? null : ["told in", transfer.consumedByRunId],
      transfer.supersedes === null ? null : ["replaces", transfer.supersedes],
      transfer.supersededBy === null ? null : ["replaced by", transfer.supersededBy],
      ["made by", transfer.createdBy],
      ...handoffs.map((h) => ["handoff", `${h.id} (${h.size} ${h.budget.unit})`] as const),
    ]),
    "",
    "what happened to it",
    table(steps),
  ].join("\n");
}
