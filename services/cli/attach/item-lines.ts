import type { ItemView, TurnView } from "../../../schemas/thread-view.ts";
import { activity, contentText } from "../item-text.ts";
import { clean, cut, oneLine, style } from "../terminal.ts";
import { took } from "../time.ts";
import { counted, runWords } from "../words.ts";

export const line = (text: string, columns: number): string => style("dim", cut(oneLine(text), columns - 1));

/** An item as the conversation shows it, besides what an agent says, which comes piece by piece. */
export function itemLines(item: ItemView, by: string, columns: number): string[] {
  switch (item.kind) {
    case "user_message":
      return said(contentText(item.content), by);
    case "assistant_message":
    case "reasoning":
      return [];
    case "approval":
      return [style("yellow", "? asks:"), ...indented(contentText(item.content))];
    case "plan":
      return [style("dim", "· plan"), ...indented(contentText(item.content))];
    case "error":
      return [style("red", "error:"), ...indented(contentText(item.content))];
    case "fork_marker":
      return [line(`── forked from ${item.sourceThreadId} ──`, columns)];
    case "subagent":
      // The task's own card tells of it.
      return item.taskId != null ? [] : [line(`· ${activity(item)}`, columns)];
    default:
      return [line(`· ${activity(item) ?? item.kind}`, columns)];
  }
}

function said(text: string, by: string): string[] {
  const [first = "", ...more] = text.split("\n");
  return [
    `${style(["bold", "cyan"], "›")} ${style("bold", by + first)}`,
    ...more.map((next) => (next === "" ? "" : `  ${style("bold", next)}`)),
  ];
}

const indented = (text: string): string[] => text.split("\n").map((next) => (next === "" ? "" : `  ${next}`));

/** How a run ended, as its last line; its refusal's hint below it. */
export function endLines({ run, ordinal, items = [] }: TurnView, columns: number): string[] {
  if (run == null) return [];
  const { status, createdAt, endedAt, interruptReason } = run;
  const files = new Set(items.flatMap((item) => (item.kind === "file_change" ? item.changes.map(({ path }) => path) : [])));
  const words = [
    `run ${ordinal}: ${runWords({ status, error: run.error ?? null })}`,
    ...(status === "interrupted" && interruptReason != null ? [interruptReason] : []),
    ...(endedAt == null ? [] : [took(Math.max(0, endedAt - createdAt))]),
    ...(files.size > 0 ? [`${counted(files.size, "file")} changed`] : []),
  ].join(", ");
  if (status !== "failed") return [line(`── ${words} ──`, columns)];
  const hint = clean(run.error?.hint ?? "");
  return [style("red", `── ${clean(words)} ──`), ...(hint === "" ? [] : [style("dim", `   ${hint}`)])];
}
