import { Command } from "commander";
import type { Need, NeedKind } from "../../../schemas/need.ts";
import type { RunStatus } from "../../../schemas/run.ts";
import type { AppThread } from "../../../schemas/thread.ts";
import type { LocalClient } from "../../http/client.ts";
import { lineageRows } from "../lineage-tree.ts";
import { resolveProject } from "../references.ts";
import { online } from "../session.ts";
import { shortIds } from "../short-ids.ts";
import { table } from "../table.ts";
import { oneLine, style } from "../terminal.ts";
import { ago } from "../time.ts";
import { counted, needWords, threadWords } from "../words.ts";

type Options = { all?: boolean; project?: string; limit?: string };
const most = 10_000;
const mostBranch = 18;

export function lsCommand(): Command {
  return new Command("ls")
    .description("threads, each with its forks and subagents below it")
    .option("--all", "archived and deleted ones too")
    .option("--project <project>", "only those of one project (id, name or path)")
    .option("--limit <n>", "threads to show", "200")
    .action(
      online<Options>(async (shell, client, { options }) => {
        const projectId = options.project === undefined ? null : await resolveProject(client, options.project);
        const { commit, threads } = await client.threads({ includeDeleted: true, limit: most });
        threads.sort((a, b) => b.createdAt - a.createdAt);
        const wanted = threads.filter((t) => (options.all || isCurrent(t)) && (projectId === null || t.projectId === projectId));
        const limit = Math.max(1, Number(options.limit) || 1);
        const shown = wanted.slice(0, limit);
        if (shell.json) shell.answer({ commit, threads: shown, more: wanted.length - shown.length }, () => "");
        else if (shown.length === 0) shell.print("no threads yet; make one with: ropewalk new");
        else {
          const [statuses, { needs }] = await Promise.all([activeStatuses(client, shown), client.needs()]);
          shell.print(tree(shown, shortIds(threads.map((t) => t.id)), statuses, needs));
          if (shown.length < wanted.length)
            shell.note(`${counted(wanted.length - shown.length, "more thread")}; see them with --limit ${wanted.length}`);
        }
        return undefined;
      }),
    );
}

const isCurrent = (thread: AppThread) => thread.status !== "deleted" && thread.marks.archived === undefined;

async function activeStatuses(client: LocalClient, threads: readonly AppThread[]): Promise<Map<string, RunStatus>> {
  const active = threads.flatMap((t) => t.activeRunId ?? []);
  const runs = await Promise.all(active.map((id) => client.run(id)));
  return new Map(runs.map(({ run }) => [run.threadId, run.status]));
}

function tree(
  threads: readonly AppThread[],
  short: ReadonlyMap<string, string>,
  statuses: ReadonlyMap<string, RunStatus>,
  needs: readonly Need[],
): string {
  const now = Date.now();
  const needed = new Map(needs.map((need) => [need.threadId, need.kind]));
  const rows = lineageRows(threads).map(({ thread, branch }) => {
    const { relationshipToParent } = thread.lineage;
    return [
      `${shortened(branch)}${relationshipToParent === null ? "" : `${relationshipToParent}: `}${oneLine(thread.title) || "untitled"}`,
      style("dim", short.get(thread.id) ?? thread.id),
      status(thread, statuses.get(thread.id) ?? null, needed.get(thread.id) ?? null),
      counted(thread.lastOrdinal, "run"),
      thread.provider?.instance ?? "-",
      ago(thread.createdAt, now),
    ];
  });
  return table(rows, 0, [4, 3, 5]);
}

/** What needs a person is marked, and says why. */
function status(thread: AppThread, run: RunStatus | null, need: NeedKind | null): string {
  const stands = threadWords(thread.status, run, thread.marks.archived !== undefined);
  const words = thread.moving != null && thread.status !== "departing" ? `${stands}, about to move` : stands;
  if (need !== null) return style("yellow", run === "waiting" ? `! ${words}` : `! ${words}, ${needWords[need]}`);
  return thread.status === "running" ? style("green", words) : words;
}

/** Of a thread that is very far down, only the end of its branch: its title is to be read. */
const shortened = (branch: string): string => (branch.length <= mostBranch ? branch : `…${branch.slice(1 - mostBranch)}`);
