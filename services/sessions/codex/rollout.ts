import type { Conversation } from "../conversation.ts";
import { type Entry, entry, list, sessionId, text, time } from "../fields.ts";

/** What the head of a rollout says of the session. */
export type RolloutHead = {
  id: string;
  folder: string | null;
  version: string | null;
  startedBy: "person" | "agent" | "ropewalk";
  /** Where the history before this file is: another file's id, and the number of the first entry there that is not part of it. */
  base: { fileId: string; end: number } | null;
};

/** The first entry of a rollout, in either of the forms that Codex has written; null for anything else. */
export function readHead(value: Entry): RolloutHead | null {
  if (value.type === undefined && "instructions" in value && text(value.timestamp) !== null) {
    const id = sessionId(value.id);
    return id === null ? null : { id, folder: null, version: null, startedBy: "person", base: null };
  }
  const meta = value.type === "session_meta" ? entry(value.payload) : null;
  const id = sessionId(meta?.id);
  if (meta === null || id === null) return null;
  const base = entry(meta.history_base);
  return {
    id,
    folder: text(meta.cwd),
    version: text(meta.cli_version),
    startedBy: starterOf(meta),
    base: base === null ? null : { fileId: String(base.thread_id), end: Number(base.end_ordinal_exclusive) },
  };
}

function starterOf(meta: Entry): RolloutHead["startedBy"] {
  if (meta.originator === "ropewalk") return "ropewalk";
  const isAgents = entry(meta.source)?.subagent !== undefined || meta.thread_source === "subagent" || meta.parent_thread_id != null;
  return isAgents ? "agent" : "person";
}

const toolCalls = new Set(["function_call", "custom_tool_call", "local_shell_call", "web_search_call", "tool_search_call"]);
/** Put before the person's first words by versions that marked them in no other way. */
const framing = /^\s*<(environment_context|user_instructions)>/;

/**
 * Reads entries of rollouts into a conversation. Newer versions write what people saw as events, in one of two forms, beside what
 * the model was sent; the oldest write the latter alone, without an envelope.
 */
export class RolloutReader {
  readonly #into: Conversation;
  #last: { role: string; text: string; form: "event" | "item" } | null = null;
  /** When an entry was last written; milliseconds since 1970. */
  changedAt: number | null = null;
  /** Answers that the model gave and no event told of. */
  untold = 0;

  constructor(into: Conversation) {
    this.#into = into;
  }

  /** Returns why an entry that should say something does not. */
  read(value: Entry, line: number): string | null {
    this.changedAt = time(value.timestamp) ?? this.changedAt;
    if (value.type === "message") return this.#bare(value, line);
    if (value.type === "function_call") this.#into.leftOut.toolCalls += 1;
    if (value.type !== "event_msg" && value.type !== "response_item") return null;
    const payload = entry(value.payload);
    if (payload === null) return "it has no payload";
    const position = sessionId(value.timestamp) ?? `line:${line}`;
    const at = time(value.timestamp);
    return value.type === "event_msg" ? this.#event(payload, at, position) : this.#sent(payload);
  }

  #event(payload: Entry, at: number | null, position: string): string | null {
    switch (payload.type) {
      case "user_message":
      case "agent_message": {
        const said = text(payload.message);
        if (said === null) return `its ${payload.type} holds no text`;
        this.#attached(payload.images, payload.local_images);
        this.#say(payload.type === "user_message" ? "user" : "assistant", said, "event", at, position);
        return null;
      }
      case "item_completed": {
        const item = entry(payload.item);
        if (item?.type !== "UserMessage" && item?.type !== "AgentMessage") return null;
        if (!Array.isArray(item.content)) return `its ${item.type} has no content`;
        const parts = list(item.content);
        const isText = (part: Entry) => String(part.type).toLowerCase() === "text" && text(part.text) !== null;
        this.#attached(parts.filter((part) => !isText(part)));
        const said = parts.filter(isText).map((part) => part.text);
        this.#say(item.type === "UserMessage" ? "user" : "assistant", said.join("\n"), "item", at, position);
        return null;
      }
      case "thread_rolled_back": {
        const turns = payload.num_turns;
        if (typeof turns !== "number" || !Number.isInteger(turns) || turns < 0) return "it does not say how many turns were taken back";
        this.#into.takeBack(turns);
        this.#last = null;
        return null;
      }
      default:
        return null;
    }
  }

  #sent(payload: Entry): string | null {
    if (typeof payload.type === "string" && toolCalls.has(payload.type)) this.#into.leftOut.toolCalls += 1;
    if (payload.type === "message" && payload.role === "assistant" && this.#last?.role !== "assistant") this.untold += 1;
    return null;
  }

  #bare(value: Entry, line: number): string | null {
    if (value.role !== "user" && value.role !== "assistant") return null;
    if (!Array.isArray(value.content)) return "its message has no content";
    const parts = list(value.content);
    this.#attached(parts.filter((part) => text(part.text) === null));
    const said = parts.flatMap((part) => text(part.text) ?? []).filter((part) => value.role === "assistant" || !framing.test(part));
    this.#say(value.role, said.join("\n"), "item", null, `line:${line}`);
    return null;
  }

  #attached(...lists: unknown[]): void {
    for (const attached of lists) if (Array.isArray(attached)) this.#into.leftOut.attachments += attached.length;
  }

  /** Some versions write a message in both forms, one right after the other. */
  #say(role: "user" | "assistant", said: string, form: "event" | "item", at: number | null, position: string): void {
    const isRepeat = this.#last?.role === role && this.#last.text === said && this.#last.form !== form;
    this.#last = { role, text: said, form };
    if (!isRepeat) this.#into.add({ role, text: said, createdAt: at }, position);
  }
}
