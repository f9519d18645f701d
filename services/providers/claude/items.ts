import { resolve } from "node:path";
import type { ItemBody } from "../../../schemas/item.ts";
import { content, textOf, wellFormed } from "../content.ts";
import type { Block } from "./protocol.ts";

/** A call of a tool, and what came of it. `output` is the tool's own, where it has one besides the text for the model. */
export type Call = { block: Block; cwd: string; result: string; ok: boolean; output: unknown };

/** A finished call in our words, or null for what a person need not see. */
export function callBody(call: Call): ItemBody | null {
  const { name = "?", input = {} } = call.block;
  switch (name) {
    case "Bash":
    case "PowerShell":
      return commandBody(call);
    case "Edit":
    case "MultiEdit":
    case "Write":
    case "NotebookEdit":
      return fileChangeBody(call);
    case "ExitPlanMode":
      return typeof input.plan === "string" && input.plan.trim() !== "" ? { kind: "plan", content: content(input.plan) } : null;
    case "TodoWrite":
      return planBody(input.todos) ?? toolCall(call);
    case "Agent":
    case "Task":
      return subagentBody(call);
    // Finds tools for the model; says nothing about the task.
    case "ToolSearch":
      return null;
    default:
      return toolCall(call);
  }
}

/** `mcp__server__tool` reads as `server/tool`. */
function toolName(name: string): string {
  const [, server, tool] = /^mcp__(.+?)__(.+)$/.exec(name) ?? [];
  return wellFormed(server === undefined ? name : `${server}/${tool}`);
}

function commandBody({ block, cwd, result, ok }: Call): ItemBody {
  const command = typeof block.input?.command === "string" ? block.input.command : "";
  const [head, code] = /^Exit code (-?\d+)\n?/.exec(result) ?? ["", undefined];
  const exitCode = ok ? 0 : code === undefined ? null : Number(code);
  return { kind: "command", command: wellFormed(command), cwd, exitCode, output: content(ok ? result : result.slice(head.length)) };
}

type Hunk = { oldStart?: number; oldLines?: number; newStart?: number; newLines?: number; lines?: string[] };
type FileOutput = { type?: string; filePath?: string; content?: string; originalFile?: string | null; structuredPatch?: Hunk[] };

/** A change that was declined or failed did not happen, so it is told as a call without success and not as a change. */
function fileChangeBody(call: Call): ItemBody {
  const { input = {} } = call.block;
  const output = (typeof call.output === "object" && call.output !== null ? call.output : {}) as FileOutput;
  const named = output.filePath ?? input.file_path ?? input.notebook_path;
  if (!call.ok || typeof named !== "string") return toolCall(call);
  const path = resolve(call.cwd, named);
  const change = output.type === "create" ? "add" : "update";
  const diff = change === "add" && typeof output.content === "string" ? addedLines(output.content) : hunksOf(output.structuredPatch ?? []);
  return {
    kind: "file_change",
    changes: [{ path: wellFormed(path), change }],
    diff: content(`${change} ${path}\n${diff}`.trimEnd()),
  };
}

function addedLines(text: string): string {
  const lines = text.replace(/\n$/, "").split("\n");
  return [`@@ -0,0 +1,${lines.length} @@`, ...lines.map((line) => `+${line}`)].join("\n");
}

function hunksOf(hunks: Hunk[]): string {
  return hunks
    .map(({ oldStart = 0, oldLines = 0, newStart = 0, newLines = 0, lines = [] }) =>
      [`@@ -${oldStart},${oldLines} +${newStart},${newLines} @@`, ...lines].join("\n"),
    )
    .join("\n");
}

function planBody(todos: unknown): ItemBody | null {
  if (!Array.isArray(todos)) return null;
  const marks: Record<string, string> = { completed: "[x]", in_progress: "[>]" };
  const steps = (todos as { content?: string; status?: string }[]).map(
    ({ content: step = "", status = "" }) => `- ${marks[status] ?? "[ ]"} ${step}`,
  );
  return steps.length === 0 ? null : { kind: "plan", content: content(steps.join("\n")) };
}

/** Native subagents are observed, not owned: the child's native ref is not a thread of ours (decision 35). */
function subagentBody({ block, result, ok }: Call): ItemBody {
  const { description, subagent_type: type, prompt } = block.input ?? {};
  const head = [type ?? "agent", description].filter(Boolean).join(": ");
  const text = [ok ? head : `${head} (failed)`, prompt, result && `→ ${result}`].filter(Boolean).join("\n");
  return { kind: "subagent", taskId: null, childThreadId: null, content: content(text) };
}

function toolCall({ block, result, ok }: Call): ItemBody {
  const { name = "?", input = {} } = block;
  return { kind: "tool_call", tool: toolName(name), arguments: content(textOf(input)), result: content(result), ok };
}
