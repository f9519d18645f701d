import type { AppThread } from "../../../schemas/thread.ts";
import type { ContextTransfer, TransferStatus } from "../../../schemas/transfer.ts";
import { lineageRows } from "../lineage-tree.ts";
import { table } from "../table.ts";
import { oneLine, style } from "../terminal.ts";
import { counted, relationshipWords, taskWords, transferWords } from "../words.ts";
import type { Missing } from "./broker.ts";
import type { DemoRecord } from "./record.ts";
import { statusesOf } from "./story/history.ts";
import type { StepTold } from "./story/story.ts";

/** Two of the margin, so that what a step says stands under its title. */
const indent = "    ";

/** A step as it went, as a person reads it. */
export function stepWords(step: StepTold, number: number): string {
  const head = `${String(number).padStart(2)}  ${step.title}`;
  const lines = step.ok ? [style("bold", head)] : [style(["bold", "red"], `${head}: this did not hold`)];
  const said = step.says.flatMap((line) => line.split("\n")).map((line) => style("dim", `${indent}${oneLine(line)}`));
  const failed = step.failed.map(
    ({ what, saw }) => `${indent}${what}${saw === undefined ? "" : ` (saw: ${oneLine(JSON.stringify(saw))})`}`,
  );
  return [...lines, ...said, ...failed].join("\n");
}

/** How it all ended: lineage as a tree, transfers with their statuses, tasks. */
export function recordWords(record: DemoRecord): string {
  const parts = [section("Lineage", lineageTable(record)), section("Transfers", transferTable(record))];
  if (record.tasks.length > 0) parts.push(section("Subagents", taskTable(record)));
  return parts.join("\n\n");
}

const section = (title: string, body: string) => [style("bold", title), ...body.split("\n").map((line) => `  ${line}`)].join("\n");

function lineageTable({ lineage }: DemoRecord): string {
  const entries = new Map(lineage.map((entry) => [entry.thread.id, entry]));
  // An import hangs below the thread that it was made of, although it is a root of its own.
  const threads = lineage.map(({ thread, parentThreadId }): AppThread => ({ ...thread, lineage: { ...thread.lineage, parentThreadId } }));
  return table(
    lineageRows(threads).map(({ thread, branch }) => {
      const entry = entries.get(thread.id);
      const relationship = entry?.relationship == null ? "" : `${entry.relationship}: `;
      return [
        `${branch}${relationship}${oneLine(thread.title) || "untitled"}`,
        entry?.environment ?? "",
        counted(thread.lastOrdinal, "run"),
        thread.provider?.instance ?? "-",
      ];
    }),
  );
}

function transferTable({ transfers }: DemoRecord): string {
  return table(
    transfers.map((transfer) => [
      relationshipWords[transfer.type],
      transfer.environment,
      statusesOf(transfer.history)
        .map((status) => statusWords(transfer, status))
        .join(" → "),
    ]),
  );
}

function statusWords(transfer: ContextTransfer & { leftOut: number }, status: TransferStatus): string {
  return transferWords({ ...transfer, status, resolution: status === "consumed" ? null : transfer.resolution }, transfer.leftOut);
}

function taskTable({ tasks, transfers }: DemoRecord): string {
  return table(
    tasks.map((task) => {
      const results = transfers.filter((t) => t.type === "subagent_result" && t.taskId === task.id).length;
      const place = task.childEnvironmentId === null ? "here" : "on the box";
      return [oneLine(task.title), place, taskWords(task), counted(results, "result")];
    }),
  );
}

/** Why the story ended early, and how to have the rest of it. */
export function missingWords({ reason, install }: Missing): string {
  return [
    "The part with two environments was left out: it needs a nats-server.",
    `${indent}${oneLine(reason)}`,
    `To have one:  ${install}`,
    "then run the demo again. One environment by itself needs none.",
  ].join("\n");
}
