import type { Content, ItemBody } from "../../../schemas/item.ts";
import { content, textOf, wellFormed } from "../content.ts";
import type { CodexItem, FileChange, ThreadFrame } from "./protocol.ts";

/** A completed native item in our words, or null for what a person need not see (own messages, empty texts, internals). */
export function itemBody(item: CodexItem): ItemBody | null {
  switch (item.type) {
    case "agentMessage":
      return unlessEmpty(item.text, (content) => ({ kind: "assistant_message", content }));
    case "reasoning":
      return unlessEmpty(reasoningOf(item), (content) => ({ kind: "reasoning", content }));
    case "plan":
      return unlessEmpty(item.text, (content) => ({ kind: "plan", content }));
    case "commandExecution":
      return commandBody(item, item.aggregatedOutput ?? "");
    case "fileChange":
      return fileChangeBody(item);
    case "mcpToolCall":
      return toolCall(`${item.server ?? "mcp"}/${item.tool ?? "?"}`, item.arguments, mcpResult(item), succeeded(item) && !isMcpError(item));
    case "dynamicToolCall":
      return toolCall(
        qualified(item.namespace, item.tool),
        item.arguments,
        textOf(item.contentItems),
        succeeded(item) && item.success !== false,
      );
    case "functionCallOutput":
      return toolCall(qualified(item.namespace, item.name), null, textOf(item.output), true);
    case "webSearch":
      return toolCall("web_search", item.query ?? "", textOf(item.results), true);
    case "imageView":
      return toolCall("view_image", item.path ?? "", "", true);
    case "imageGeneration":
      return toolCall("image_generation", item.revisedPrompt ?? "", item.savedPath ?? "", succeeded(item));
    case "exitedReviewMode":
      return unlessEmpty(item.review, (content) => ({ kind: "assistant_message", content }));
    case "collabAgentToolCall":
      return collabBody(item);
    case "subAgentActivity":
      return subagent(`${item.agentPath ?? item.agentThreadId ?? "a subagent"}: ${item.kind ?? "active"}`);
    default:
      return null;
  }
}

/** A command with what it has printed so far, or in the end. */
export function commandBody(item: CodexItem, output: string): ItemBody {
  const declined = item.status === "declined";
  return {
    kind: "command",
    command: wellFormed(item.command ?? ""),
    cwd: item.cwd ?? null,
    exitCode: item.exitCode ?? null,
    output: content(declined ? "Not run: declined." : output),
  };
}

/** The native threads of children that an item names. */
export function childThreadsOf(item: CodexItem): string[] {
  if (item.type === "collabAgentToolCall") return item.receiverThreadIds ?? [];
  return item.type === "subAgentActivity" && item.agentThreadId ? [item.agentThreadId] : [];
}

/** Changes as a person reads them: one head line per file, and its diff. */
export function diffOf(changes: FileChange[]): string {
  return changes.map((change) => `${kindOf(change)} ${change.path}\n${change.diff ?? ""}`.trimEnd()).join("\n\n");
}

/** The agent's to-do list, as `turn/plan/updated` has it. */
export function planBody({ explanation, plan = [] }: ThreadFrame): ItemBody | null {
  const marks: Record<string, string> = { completed: "[x]", inProgress: "[>]", in_progress: "[>]" };
  const steps = plan.map(({ step, status }) => `- ${marks[status ?? ""] ?? "[ ]"} ${step ?? ""}`);
  return unlessEmpty([...(explanation ? [explanation] : []), ...steps].join("\n"), (text) => ({ kind: "plan", content: text }));
}

function reasoningOf({ summary = [], content: raw = [] }: CodexItem): string {
  return [...summary, ...raw.map(textOf)].join("\n\n");
}

/** A change that was declined or failed did not happen, so it is told as a call without success and not as a change. */
function fileChangeBody(item: CodexItem): ItemBody {
  const changes = item.changes ?? [];
  if (!succeeded(item)) return toolCall("apply_patch", diffOf(changes), item.status ?? "failed", false);
  return {
    kind: "file_change",
    changes: changes.map((change) => ({ path: wellFormed(change.path), change: kindOf(change) })),
    diff: content(diffOf(changes)),
  };
}

function kindOf({ kind }: FileChange): "add" | "update" | "delete" | "rename" {
  if (kind?.type === "add" || kind?.type === "delete") return kind.type;
  return kind?.move_path ? "rename" : "update";
}

function collabBody(item: CodexItem): ItemBody {
  const called = `${item.tool ?? "call"} (${item.status ?? "?"})`;
  if (item.tool === "spawnAgent") return subagent([called, item.prompt ?? ""].join("\n"));
  return toolCall(`agents/${item.tool ?? "?"}`, item.prompt ?? "", item.status ?? "", succeeded(item));
}

/** Native subagents are observed, not owned: the child's native ref is not a thread of ours (decision 35). */
function subagent(text: string): ItemBody {
  return { kind: "subagent", taskId: null, childThreadId: null, content: content(text.trimEnd()) };
}

function toolCall(tool: string, given: unknown, result: string, ok: boolean): ItemBody {
  return { kind: "tool_call", tool: wellFormed(tool), arguments: content(textOf(given)), result: content(result), ok };
}

const succeeded = ({ status }: CodexItem) => status === undefined || status === "completed";
const qualified = (namespace: string | null | undefined, tool: string | undefined) => [namespace, tool ?? "?"].filter(Boolean).join("/");

function mcpResult({ result, error }: CodexItem): string {
  if (error?.message) return error.message;
  return textOf((result as { content?: unknown } | null | undefined)?.content);
}

function isMcpError({ result, error }: CodexItem): boolean {
  return Boolean(error) || (result as { isError?: unknown } | null | undefined)?.isError === true;
}

function unlessEmpty(text: string | undefined, body: (content: Content) => ItemBody): ItemBody | null {
  return text === undefined || text.trim() === "" ? null : body(content(text));
}
