import { Command } from "commander";
import type { Move } from "../../../schemas/move.ts";
import type { Need } from "../../../schemas/need.ts";
import type { AppThread } from "../../../schemas/thread.ts";
import type { SnapshotAnswer } from "../../http/client/answers.ts";
import type { LocalClient } from "../../http/client.ts";
import { conversationLines } from "../conversation-lines.ts";
import { badInput } from "../failure.ts";
import { resolve } from "../references.ts";
import { online } from "../session.ts";
import { shortReferences } from "../short-references.ts";
import { facts, table } from "../table.ts";
import { clean, oneLine, style } from "../terminal.ts";
import { ago } from "../time.ts";
import { unfolded } from "../unfold.ts";
import { counted, moveWords, relationshipWords, taskWords, threadWords, transferWords } from "../words.ts";

type Options = { limit: string; all?: boolean; full?: boolean };
const most = 10_000;
/** Of transfers and of tasks, without --all. */
const shownRecords = 10;

export function showCommand(): Command {
  return new Command("show")
    .description("a thread: what was said and done, what waits, where it came from")
    .argument("<thread>", "id, a unique beginning of it, or @last")
    .option("--limit <n>", "items to show, the newest", "40")
    .option("--all", "all items, reasoning and what was taken back too")
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
        if (shell.json) shell.answer(snapshot, () => "");
        else shell.print(words(snapshot, await besides(client, snapshot, options.all === true)).join("\n"));
        return undefined;
      }),
    );
}

/** What is read for a person besides the snapshot. */
type Besides = {
  all: boolean;
  /** What each transfer's artefact left out. */
  leftOut: Record<string, number>;
  needs: Need[];
  /** The one that is under way. */
  move: Move | undefined;
  kept: ReadonlySet<string>;
  short(id: string): string;
};

async function besides(client: LocalClient, { thread, transfers, tasks }: SnapshotAnswer, all: boolean): Promise<Besides> {
  const [{ leftOut = {} }, { needs: everywhere }, { checkpoints }, { moves }] = await Promise.all([
    transfers.length === 0 ? { leftOut: {} } : client.transfers({ target: thread.id, limit: most }),
    client.needs(),
    client.checkpoints(thread.id),
    client.moves({ thread: thread.id, open: true, limit: 1 }),
  ]);
  const needs = everywhere.filter((need) => need.threadId === thread.id);
  const short = await shortReferences(client, [
    thread.id,
    ...transfers.slice(-shownRecords).flatMap((t) => [t.id, t.sourceThreadId]),
    ...tasks.slice(-shownRecords).map(({ id }) => id),
    ...needs.flatMap(({ act }) => act),
  ]);
  const kept = new Set(checkpoints.flatMap(({ runId, workspaceRef }) => (runId === null || workspaceRef === null ? [] : [runId])));
  return { all, leftOut, needs, move: moves[0], kept, short: (id) => short.get(id) ?? id };
}

function words(snapshot: SnapshotAnswer, about: Besides): string[] {
  const { thread, progress } = snapshot;
  const told = conversationLines(snapshot, { all: about.all, name: about.short(thread.id), kept: about.kept });
  return [
    ...heading(snapshot, about),
    "",
    ...(snapshot.next.items === null || about.all ? [] : [style("dim", "── what came before: --limit, or --all ──")]),
    ...(told.length > 0 ? told : [style("dim", `nothing yet; say something with: ropewalk send ${thread.id} TEXT`)]),
    ...(progress === null || progress === "" ? [] : [style("dim", "agent, still writing"), clean(progress)]),
    ...transferLines(snapshot, about),
    ...taskLines(snapshot, about),
  ];
}

function heading({ thread, runs }: SnapshotAnswer, { needs, move, short }: Besides): string[] {
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
      thread.mayAlsoLive === undefined
        ? null
        : [style("yellow", "stands in"), `for its parent, which may also live in ${thread.mayAlsoLive.environmentId}`],
      thread.movedFrom !== undefined
        ? ["moved from", `${thread.movedFrom.environmentId} (${thread.movedFrom.threadId})`]
        : thread.historyOrigin === "v1_import"
          ? ["history", `imported${importedFrom(thread)}`]
          : null,
      thread.linkOrigin === null ? null : ["started by", thread.linkOrigin.environmentId],
      ["runs", `${runs.length}${thread.queue.length > 0 ? `, ${thread.queue.length} waiting` : ""}`],
      ["made", ago(thread.createdAt)],
    ]),
    ...needs.map(({ why, act }) => `${style("yellow", `! ${oneLine(why)}`)}: ropewalk ${act.map(short).join(" ")}`),
  ];
}

const importedFrom = ({ importedFrom: from }: AppThread) =>
  from === undefined ? "" : ` from ${oneLine(from.environmentId)} (${oneLine(from.threadId)})`;

function transferLines({ transfers, thread }: SnapshotAnswer, { all, leftOut, short }: Besides): string[] {
  if (transfers.length === 0) return [];
  const told = all ? transfers : transfers.slice(-shownRecords);
  const rows = told.map((t) => [
    `  ${relationshipWords[t.type]}${t.sourceThreadId === thread.id ? "" : ` from ${short(t.sourceThreadId)}`}`,
    transferWords(t, leftOut[t.id]),
    style("dim", short(t.id)),
  ]);
  return ["", heads(transfers.length, "transfer", told.length), table(rows, 1)];
}

function taskLines({ tasks }: SnapshotAnswer, { all, short }: Besides): string[] {
  if (tasks.length === 0) return [];
  const told = all ? tasks : tasks.slice(-shownRecords);
  const rows = told.map((t) => [`  ${oneLine(t.title)}`, taskWords(t), style("dim", short(t.id)), ago(t.createdAt)]);
  return ["", heads(tasks.length, "task", told.length), table(rows, 0, [3])];
}

const heads = (count: number, noun: string, told: number): string =>
  style("bold", counted(count, noun)) + (told < count ? style("dim", `, the newest ${told}; all with --all`) : "");

function workplace(workspace: AppThread["workspace"]): [string, string] | null {
  if (workspace.strategy === "root") return null;
  const own = workspace.strategy === "worktree";
  return ["works in", workspace.path === null ? "a worktree that its first run makes" : `${workspace.path}${own ? " (its own)" : ""}`];
}
