import type { ItemId } from "../../schemas/ids.ts";
import type { Content, ItemBody, VisibleItem } from "../../schemas/item.ts";
import { shorten } from "./shorten.ts";

/** The text of a content, or null where it is not there any more. */
export type ReadContent = (content: Content) => string | null;

/** How much of an output is retold: characters of each output in the last run of the range and of failures, and elsewhere. */
export type Detail = { recent: number; older: number };

/** One item as text; an answered approval is one with its answer. Kept or left out whole. */
export type Block = {
  /** The items that it tells; the first gives it its place. */
  itemIds: ItemId[];
  text: string;
  /** What a person or agent asked for. */
  isRequest: boolean;
  /** What was asked, decided or failed: worth more room than its age would give it. */
  isKey: boolean;
  /** What was cut out of its outputs. */
  cut: string[];
};

/** `notRetold`: items of kinds that no handoff tells, with the text that they have. */
export type Rendered = { blocks: Block[]; notRetold: { itemId: ItemId; text: string }[] };

type Told = { text: string; isRequest?: boolean; isKey?: boolean; cut?: string[] };

const purged = "[this content is not available any more]";

/** Items in order to blocks in the same order. Pure: the same items give the same text. */
export function renderItems(items: readonly VisibleItem[], read: ReadContent, detail: Detail): Rendered {
  const answers = new Map<string, VisibleItem>();
  const asked = new Set<string>();
  for (const item of items) {
    if (item.body.kind === "approval_answer") answers.set(requestKey(item, item.body.requestId), item);
    if (item.body.kind === "approval") asked.add(requestKey(item, item.body.requestId));
  }
  const last = items.at(-1);
  const rendered: Rendered = { blocks: [], notRetold: [] };
  for (const item of items) {
    const { body } = item;
    // Told together with what it answers.
    if (body.kind === "approval_answer" && asked.has(requestKey(item, body.requestId))) continue;
    const answer = body.kind === "approval" ? answers.get(requestKey(item, body.requestId)) : undefined;
    const isRecent = item.threadId === last?.threadId && item.runOrdinal === last.runOrdinal;
    const told = tell(item, answer?.body, read, (failed) => (isRecent || failed ? detail.recent : detail.older));
    if (told === null) {
      rendered.notRetold.push({ itemId: item.id, text: "content" in body ? (read(body.content) ?? "") : "" });
    } else {
      const { text, isRequest = false, isKey = false, cut = [] } = told;
      rendered.blocks.push({ itemIds: answer ? [item.id, answer.id] : [item.id], text, isRequest, isKey, cut });
    }
  }
  return rendered;
}

const requestKey = (item: VisibleItem, requestId: string) => `${item.threadId} ${item.runOrdinal} ${requestId}`;

function tell(item: VisibleItem, answer: ItemBody | undefined, read: ReadContent, bound: (failed: boolean) => number): Told | null {
  const { body } = item;
  const say = (content: Content) => read(content) ?? purged;
  const head = (label: string) => (item.truncated ? `${label} (cut off):` : `${label}:`);
  switch (body.kind) {
    case "user_message":
      return { text: `${head("User")}\n${say(body.content)}`, isRequest: true, isKey: true };
    case "assistant_message":
      return { text: `${head("Assistant")}\n${say(body.content)}` };
    case "command": {
      const failed = body.exitCode !== 0;
      const { text, cut } = shorten(say(body.output), bound(failed));
      const ended = body.exitCode === null ? "Command, no exit code" : `Command, exit code ${body.exitCode}`;
      return { text: lines(head(ended), `$ ${body.command}`, text), isKey: failed, cut };
    }
    case "file_change": {
      const { text, cut } = shorten(say(body.diff), bound(false));
      return { text: lines(head("Files changed"), ...body.changes.map(({ path, change }) => `${change} ${path}`), text), isKey: true, cut };
    }
    case "tool_call": {
      const given = shorten(say(body.arguments), bound(!body.ok));
      const result = shorten(say(body.result), bound(!body.ok));
      const ended = body.ok ? `Tool ${body.tool}` : `Tool ${body.tool}, failed`;
      return {
        text: lines(head(ended), given.text, result.text && `-> ${result.text}`),
        isKey: !body.ok,
        cut: [...given.cut, ...result.cut],
      };
    }
    case "plan":
      return { text: `${head("Plan")}\n${say(body.content)}`, isKey: true };
    case "approval":
      if (answer?.kind !== "approval_answer") return null;
      return { text: lines("Asked for approval:", say(body.content), answered(answer)), isKey: true };
    case "approval_answer":
      return { text: answered(body), isKey: true };
    case "subagent":
      return { text: `${head("Subagent")}\n${say(body.content)}` };
    case "handoff":
      return { text: `Told at this point:\n${say(body.content)}` };
    case "error":
      return { text: `${head("Error")}\n${say(body.content)}`, isKey: true };
    case "reasoning":
    case "fork_marker":
      return null;
  }
}

function answered({ answer, by }: Extract<ItemBody, { kind: "approval_answer" }>): string {
  return `Answer (${by}): ${answer}`;
}

function lines(...parts: string[]): string {
  return parts.filter((part) => part !== "").join("\n");
}
