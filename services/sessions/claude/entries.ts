import { type Entry, entry, list, sessionId, text } from "../fields.ts";

/** Kinds of entries by which a file is known as a session of Claude Code, with the member that each then has. */
const kinds: Record<string, string> = {
  user: "uuid",
  assistant: "uuid",
  system: "uuid",
  attachment: "uuid",
  summary: "leafUuid",
  "queue-operation": "sessionId",
  "file-history-snapshot": "snapshot",
  mode: "sessionId",
  "last-prompt": "sessionId",
};

/** Whether an entry is one that Claude Code writes. Other kinds of its entries say nothing about it. */
export function isClaudeEntry(value: Entry): boolean {
  const member = typeof value.type === "string" ? kinds[value.type] : undefined;
  return member !== undefined && value[member] !== undefined;
}

export type Said = {
  role: "user" | "assistant";
  /** Empty: nothing that is part of the conversation. */
  text: string;
  toolCalls: number;
  attachments: number;
  /** What is not the person's own words, but stands for something of the history. */
  kind: "message" | "summary" | "command" | "output";
};

const nothing: Omit<Said, "role"> = { text: "", toolCalls: 0, attachments: 0, kind: "message" };
const command = /^\s*<command-(?:name|message)>/;
const commandName = /<command-name>([\s\S]*?)<\/command-name>/;
const commandArgs = /<command-args>([\s\S]*?)<\/command-args>/;
/** What the program puts into a person's messages, and what it did by itself. */
const added = /^\s*<(?:system-reminder|local-command-caveat|bash-input|bash-stdout|bash-stderr|task-notification|user-memory-input)\b/;
const output = /^\s*<local-command-std(?:out|err)>/;
const interrupted = /^\[Request interrupted by user(?: for tool use)?\]$/;

/** What a message entry says; the reason why it says nothing that can be understood. */
export function readMessage(value: Entry): Said | { why: string } {
  const role = value.type === "user" ? "user" : "assistant";
  const message = entry(value.message);
  const content = message?.content;
  if (typeof content !== "string" && !Array.isArray(content)) return { why: `its ${role} message has no content` };
  // An answer of the program itself: an error of the model's, or a filler.
  if (role === "assistant" && (value.isApiErrorMessage === true || message?.model === "<synthetic>")) return { role, ...nothing };
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : list(content);
  const said: Said = { role, ...nothing, kind: value.isCompactSummary === true ? "summary" : "message" };
  const texts: string[] = [];
  for (const block of blocks) {
    const words = text(block.text);
    if (block.type === "text" && words !== null) texts.push(words);
    else if (block.type === "tool_use" || block.type === "server_tool_use") said.toolCalls += 1;
    else if (block.type === "image" || block.type === "document") said.attachments += 1;
  }
  if (role === "assistant") return { ...said, text: texts.join("\n") };
  const [first = ""] = texts;
  if (output.test(first)) return { ...said, kind: "output" };
  if (command.test(first)) return { ...said, kind: "command", text: commandText(first) };
  const own = texts.filter((words) => !added.test(words) && !interrupted.test(words.trim()));
  return { ...said, text: own.join("\n") };
}

/** `/name arguments`, as it was typed. */
function commandText(words: string): string {
  const name = commandName.exec(words)?.[1]?.trim() ?? "";
  return `${name} ${commandArgs.exec(words)?.[1]?.trim() ?? ""}`.trim();
}

export type Titles = { given: string | null; made: string | null };

/** Takes what an entry says of the session's title: one that a person gave before one that the program made. */
export function noteTitle(titles: Titles, value: Entry, isOwnLeaf: (uuid: string) => boolean): void {
  if (value.type === "custom-title") titles.given = text(value.customTitle) ?? titles.given;
  else if (value.type === "ai-title") titles.made = text(value.aiTitle) ?? titles.made;
  // Older versions also wrote summaries of other sessions into a file.
  else if (value.type === "summary" && isOwnLeaf(text(value.leafUuid) ?? "")) titles.made = text(value.summary) ?? titles.made;
}

export const idOf = (value: Entry): string | null => sessionId(value.uuid);
