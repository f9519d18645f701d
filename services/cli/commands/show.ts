import { Command } from "commander";
import type { VisibleItem } from "../../../schemas/item.ts";
import type { Move } from "../../../schemas/move.ts";
import type { Run } from "../../../schemas/run.ts";
import type { AppThread } from "../../../schemas/thread.ts";
import type { SnapshotAnswer } from "../../http/client/answers.ts";
import { badInput } from "../failure.ts";
import { itemLines } from "../item-text.ts";
import { resolve } from "../references.ts";
import { online } from "../session.ts";
import { facts } from "../table.ts";
import { clean, oneLine, style } from "../terminal.ts";
import { ago, took } from "../time.ts";
import { unfolded } from "../unfold.ts";
import { counted, moveWords, relationshipWords, runWords, taskWords, threadWords, transferWords } from "../words.ts";

type Options = { limit: string; all?: boolean; full?: boolean };
const most = 10_000;

export function showCommand(): Command {
  return new Command("show")
    .description("a thread: what was said and done, what waits, where it came from")
    .argument("<thread>", "id, a unique beginning of it, or @last")
    .option("--limit <n>", "items to show, the newest", "40")
    .option("--all", "all items, reasoning too")
    .option("--full", "large texts whole")
    .action(
      online<Options>(async (shell, client, { args: [ref], options }) => {
        const limit = Number(options.limit);
        if (!Number.isInteger(limit) || limit < 1)
          throw badInput("not_a_number", `--limit ${options.limit} is no number of items`, "Give a number from 1 on, or --all.");
        const threadId = await resolve(client, "thread", ref);
        const snapshot = await client.snapshot(threadId, { limit: options.all === true ? most : Math.min(limit, most), newestFirst: true });
        snapshot.items.reverse();
        if (options.full === true) await unfolded(client, snapshot.items);
        const [move] = shell.json ? [] : (await client.moves({ thread: threadId, open: true, limit: 1 })).moves;
        const leftOut = shell.json ? {} : (await client.transfers({ target: threadId, limit: most })).leftOut;
        shell.answer(snapshot, () => words(snapshot, leftOut, options.all === true, move).join("\n"));
        return undefined;
      }),
    );
}

function words(snapshot: SnapshotAnswer, leftOut: Record<string, number>, reasoning: boolean, move?: Move): string[] {
  return [
    ...heading(snapshot, move),
    "",
    ...conversation(snapshot, reasoning),
    ...(snapshot.progress === null || snapshot.progress === "" ? [] : [style("dim", "agent, still writing"), clean(snapshot.progress)]),
    ...transferLines(snapshot, leftOut),
    ...taskLines(snapshot),
  ];
}

function heading({ thread, runs }: SnapshotAnswer, move: Move | undefined): string[] {
  const active = runs.find((run) => run.id === thread.activeRunId);
  const { parentThreadId, relationshipToParent } = thread.lineage;
  return [
    style("bold", oneLine(thread.title) || "untitled"),
    facts([
      ["id", thread.id],
      ["status", threadWords(thread.status, active?.status ?? null, thread.marks.archived !== undefined)],
      [
        "served by",
        thread.provider === null
          ? "nobody yet"
          : `${thread.provider.instance}${thread.provider.model === null ? "" : ` (${oneLine(thread.provider.model)})`}`,
      ],
      thread.preferred === null ? null : ["next", thread.preferred.provider.instance],
      ["modes", `${thread.modes.runtimeMode}, ${thread.modes.interactionMode}`],
      parentThreadId === null ? null : [relationshipToParent === "fork" ? "forked from" : "works for", parentThreadId],
      workplace(thread.workspace),
      move === undefined ? null : [style("yellow", "move"), `${moveWords(move)} (to ${move.environmentId})`],
      thread.departed === undefined ? null : ["lives in", `${thread.departed.environmentId}, as ${thread.departed.threadId}`],
      thread.movedFrom !== undefined
        ? ["moved from", `${thread.movedFrom.environmentId} (${thread.movedFrom.threadId})`]
        : thread.historyOrigin === "v1_import"
          ? ["history", `imported${importedFrom(thread)}`]
          : null,
      thread.linkOrigin === null ? null : ["started by", thread.linkOrigin.environmentId],
      ["runs", `${runs.length}${thread.queue.length > 0 ? `, ${thread.queue.length} waiting` : ""}`],
      ["made", ago(thread.createdAt)],
    ]),
  ];
}

const importedFrom = ({ importedFrom: from }: AppThread) =>
  from === undefined ? "" : ` from ${oneLine(from.environmentId)} (${oneLine(from.threadId)})`;

function conversation({ items, runs, thread }: SnapshotAnswer, reasoning: boolean): string[] {
  const byId = new Map<string, Run>(runs.map((run) => [run.id, run]));
  const lines: string[] = [];
  let before: VisibleItem | null = null;
  for (const item of items) {
    const told = itemLines(item, { reasoning });
    if (told.length === 0) continue;
    if (item.inherited && before === null) lines.push(style("dim", "── inherited ──"));
    if (item.runId !== null && item.runId !== before?.runId)
      lines.push(style("dim", `── ${item.inherited ? "its run" : "run"} ${item.runOrdinal}${runNote(byId.get(item.runId))} ──`));
    lines.push(...told);
    before = item;
  }
  if (lines.length === 0) lines.push(style("dim", `nothing yet; say something with: ropewalk send ${thread.id} TEXT`));
  return lines;
}

function runNote(run: Run | undefined): string {
  if (run === undefined) return "";
  const time = run.endedAt === null || run.acceptedAt === null ? "" : `, ${took(run.endedAt - run.acceptedAt)}`;
  return ` (${runWords(run)}${run.provider === null ? "" : `, ${run.provider.instance}`}${time})`;
}

function transferLines({ transfers, thread }: SnapshotAnswer, leftOut: Record<string, number>): string[] {
  if (transfers.length === 0) return [];
  const told = transfers.map((t) => {
    const from = t.sourceThreadId === thread.id ? "" : ` from ${t.sourceThreadId}`;
    return `  ${relationshipWords[t.type]}${from}: ${transferWords(t, leftOut[t.id])}  ${style("dim", t.id)}`;
  });
  return ["", style("bold", counted(transfers.length, "transfer")), ...told];
}

function taskLines({ tasks }: SnapshotAnswer): string[] {
  if (tasks.length === 0) return [];
  return [
    "",
    style("bold", counted(tasks.length, "task")),
    ...tasks.map((t) => `  ${oneLine(t.title)}: ${taskWords(t)}  ${style("dim", t.id)}`),
  ];
}

function workplace(workspace: AppThread["workspace"]): [string, string] | null {
  if (workspace.strategy === "root") return null;
  const own = workspace.strategy === "worktree";
  return ["works in", workspace.path === null ? "a worktree that its first run makes" : `${workspace.path}${own ? " (its own)" : ""}`];
}
