import type { Content, ItemBody, VisibleItem } from "../../schemas/item.ts";
import type { ItemView, ViewText } from "../../schemas/thread-view.ts";
import { clean, oneLine, style } from "./terminal.ts";
import { counted, sizeWords } from "./words.ts";

const activityChars = 160;
const outputLines = 8;

/** A text of an item as the item has it, or as a view does. */
type Said = Content | ViewText;
/** An item's content, or the item as a view has it. */
export type ShownBody = ItemBody | ItemView;

/** The text of a content; of one that is kept apart its beginning, and how to see the rest. */
export function contentText(content: Said): string {
  const whole = wholeOf(content);
  if (whole !== null) return clean(whole);
  const begins = clean(plainText(content));
  return `${begins === "" ? "" : `${begins}…\n`}(${sizeWords(sizeOf(content))} in all; see it with --full)`;
}

/** As it came; of one that is kept apart its beginning, where that is known. */
export function plainText(content: Said): string {
  if (typeof content === "string") return content;
  if ("text" in content) return content.text;
  return "blob" in content ? content.blob.preview : (content.begins ?? "");
}

/** Null: there is more of it elsewhere. */
export function wholeOf(content: Said): string | null {
  return typeof content === "string" || "text" in content ? plainText(content) : null;
}

function sizeOf(content: Said): number {
  if (typeof content === "string" || "text" in content) return Buffer.byteLength(plainText(content));
  return "blob" in content ? content.blob.bytes : content.bytes;
}

/** What a run did besides talking, on one line; null for what is not worth one. */
export function activity(body: ShownBody): string | null {
  const line = activityLine(body);
  return line === null ? null : [...oneLine(line)].slice(0, activityChars).join("");
}

function activityLine(body: ShownBody): string | null {
  switch (body.kind) {
    case "command":
      return `ran ${body.command}${body.exitCode == null || body.exitCode === 0 ? "" : ` (exit ${body.exitCode})`}`;
    case "file_change":
      return `changed ${body.changes.map((c) => `${c.path} (${c.change})`).join(", ")}`;
    case "tool_call":
      return `called ${body.tool}${body.ok === false ? " (failed)" : ""}`;
    case "approval":
      return `asks: ${plainText(body.content)}`;
    case "approval_answer":
      return `answered: ${body.answer}`;
    case "subagent":
      return `subagent: ${plainText(body.content)}`;
    case "plan":
      return "made a plan";
    case "handoff":
      return "was told the history that it had not seen";
    case "error":
      return `error: ${plainText(body.content)}`;
    default:
      return null;
  }
}

/** An item as `show` prints it: who on its first line, then what, indented. Empty for what is shown only on demand. */
export function itemLines(item: VisibleItem, options: { reasoning: boolean }): string[] {
  const lines = bodyLines(item.body, options);
  return item.truncated && lines.length > 0 ? [...lines, style("dim", "  (cut off: the process ended before it was complete)")] : lines;
}

function bodyLines(body: ItemBody, options: { reasoning: boolean }): string[] {
  switch (body.kind) {
    case "user_message":
      return [style("bold", "you"), ...indented(contentText(body.content))];
    case "assistant_message":
      return [style("bold", "agent"), ...indented(contentText(body.content))];
    case "reasoning":
      return options.reasoning ? [style("dim", "thought"), ...indented(contentText(body.content))] : [];
    case "plan":
      return [style("bold", "plan"), ...indented(contentText(body.content))];
    case "command":
      return [`  ${style("dim", `· ${activity(body)}`)}`, ...indented(head(contentText(body.output)), "    ")];
    case "approval":
      return [
        style("yellow", `asks  (request ${oneLine(body.requestId)})`),
        ...indented(contentText(body.content)),
        ...(body.options.length > 0 ? [`  answers: ${body.options.map(oneLine).join(", ")}`] : []),
      ];
    case "handoff":
      return [`  ${style("dim", `· was told what it had not seen: ropewalk handoff show ${body.handoffId}`)}`];
    case "fork_marker":
      return [style("dim", `── forked from ${body.sourceThreadId}${body.sourceRunId === null ? "" : ` at ${body.sourceRunId}`} ──`)];
    case "error":
      return [style("red", "error"), ...indented(contentText(body.content))];
    default:
      return [`  ${style("dim", `· ${activity(body) ?? body.kind}`)}`];
  }
}

function indented(text: string, by = "  "): string[] {
  return text === "" ? [] : text.split("\n").map((line) => (line === "" ? "" : by + line));
}

function head(text: string): string {
  const lines = text.trimEnd().split("\n");
  if (lines.length <= outputLines) return lines.join("\n");
  return [...lines.slice(0, outputLines), `… ${counted(lines.length - outputLines, "more line")}`].join("\n");
}
