import type { VisibleItem } from "../../schemas/item.ts";
import type { Run } from "../../schemas/run.ts";
import type { SnapshotAnswer } from "../http/client/answers.ts";
import { itemLines } from "./item-text.ts";
import { oneLine, style } from "./terminal.ts";
import { took } from "./time.ts";
import { counted, runWords } from "./words.ts";

type Options = {
  /** Reasoning, and runs that were taken back, too. */
  all: boolean;
  /** What the thread is called in a command. */
  name: string;
  /** Runs whose files were kept, so that their difference can be shown. */
  kept: ReadonlySet<string>;
};
type Turn = { run: Run | null; ordinal: number; isInherited: boolean; items: VisibleItem[] };
const shownFiles = 5;

/** What was said and done, run by run; without anything to say, no lines. */
export function conversationLines({ items, runs }: Pick<SnapshotAnswer, "items" | "runs">, options: Options): string[] {
  const lines: string[] = [];
  let takenBack: number[] = [];
  const tellTakenBack = () => {
    if (takenBack.length > 0) lines.push(style("dim", `── ${takenBackWords(takenBack)}; see with --all ──`));
    takenBack = [];
  };
  let isInherited = false;
  for (const turn of turnsOf(items, runs)) {
    if (turn.run?.status === "rolled_back" && !options.all) {
      takenBack.push(turn.ordinal);
      continue;
    }
    tellTakenBack();
    const told = turn.items.flatMap((item) => itemLines(item, { reasoning: options.all }));
    if (told.length === 0) continue;
    if (turn.isInherited && !isInherited) lines.push(style("dim", "── inherited ──"));
    isInherited = turn.isInherited;
    if (turn.items[0]?.runId != null)
      lines.push(style("dim", `── ${isInherited ? "its run" : "run"} ${turn.ordinal}${runNote(turn.run)} ──`));
    lines.push(...told, ...fileLine(turn, options));
  }
  tellTakenBack();
  return lines;
}

function turnsOf(items: readonly VisibleItem[], runs: readonly Run[]): Turn[] {
  const byId = new Map<string, Run>(runs.map((run) => [run.id, run]));
  const turns: Turn[] = [];
  for (const item of items) {
    const last = turns.at(-1);
    const before = last?.items[0];
    if (last !== undefined && before?.runId === item.runId && before.threadId === item.threadId) last.items.push(item);
    else turns.push({ run: byId.get(item.runId ?? "") ?? null, ordinal: item.runOrdinal, isInherited: item.inherited, items: [item] });
  }
  return turns;
}

function runNote(run: Run | null): string {
  if (run === null) return "";
  const time = run.endedAt === null || run.acceptedAt === null ? "" : `, ${took(run.endedAt - run.acceptedAt)}`;
  return ` (${runWords(run)}${run.provider === null ? "" : `, ${run.provider.instance}`}${time})`;
}

/** `runs 3 to 5 were taken back`. */
function takenBackWords(ordinals: readonly number[]): string {
  const [first, last] = [ordinals[0], ordinals.at(-1)];
  return ordinals.length === 1 ? `run ${first} was taken back` : `runs ${first} to ${last} were taken back`;
}

/** What of a run is left in its folder, on one line. */
function fileLine({ run, ordinal, items, isInherited }: Turn, { name, kept }: Options): string[] {
  const paths = new Set(items.flatMap(({ body }) => (body.kind === "file_change" ? body.changes.map(({ path }) => oneLine(path)) : [])));
  if (paths.size === 0 || run === null || isInherited) return [];
  const more = paths.size > shownFiles ? ` and ${paths.size - shownFiles} more` : "";
  const see = kept.has(run.id) ? `; see: ropewalk diff ${name} ${ordinal}` : "";
  return [style("dim", `  ${counted(paths.size, "file")} changed: ${[...paths].slice(0, shownFiles).join(", ")}${more}${see}`)];
}
