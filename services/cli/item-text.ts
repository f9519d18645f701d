import type { Content, ItemBody, VisibleItem } from "../../schemas/item.ts";
import { clean, oneLine, style } from "./terminal.ts";
import { counted, sizeWords } from "./words.ts";

const activityChars = 160;
const outputLines = 8;

/** The text of a content; of one that is kept apart its beginning, and how to see the rest. */
export function contentText(content: Content): string {
  if ("text" in content) return clean(content.text);
  return `${clean(content.blob.preview)}…\n(${sizeWords(content.blob.bytes)} in all; see it with --full)`;
}

export const plainText = (content: Content): string => ("text" in content ? content.text : content.blob.preview);

/** What a run did besides talking, on one line; null for what is not worth one. */
export function activity(body: ItemBody): string | null {
  const line = activityLine(body);
  return line === null ? null : [...oneLine(line)].slice(0, activityChars).join("");
}

function activityLine(body: ItemBody): string | null {
  switch (body.kind) {
    case "command":
      return `ran ${body.command}${body.exitCode === null || body.exitCode === 0 ? "" : ` (exit ${body.exitCode})`}`;
    case "file_change":
      return `changed ${body.changes.map((c) => `${c.path} (${c.change})`).join(", ")}`;
    case "tool_call":
      return `called ${body.tool}${body.ok ? "" : " (failed)"}`;
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
