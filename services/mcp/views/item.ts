import { z } from "zod";
import { ItemId, RunId } from "../../../schemas/ids.ts";
import type { Content, ItemBody, VisibleItem } from "../../../schemas/item.ts";
import type { Environment } from "../../runtime/environment-api.ts";
import { type Clipped, readContent } from "./text.ts";

/** An item as an agent reads it: one text, bounded. */
export const ItemView = z.object({
  id: ItemId,
  kind: z.string(),
  runId: RunId.nullable(),
  /** Ordinal of its run; 0 is imported history. */
  ordinal: z.number().int(),
  /** True when it belongs to the thread that this one was forked from. */
  inherited: z.boolean(),
  text: z.string(),
  /** Set where `text` is only the beginning: bytes of the whole. The rest is in the resource of the item. */
  cutFromBytes: z.number().int().optional(),
});
export type ItemView = z.infer<typeof ItemView>;

export function itemView(environment: Environment, item: VisibleItem, maxChars: number): ItemView {
  const { content, before } = textOf(item.body);
  const read: Clipped = content === null ? { text: "" } : readContent(environment, content, maxChars);
  return {
    id: item.id,
    kind: item.body.kind,
    runId: item.runId,
    ordinal: item.runOrdinal,
    inherited: item.inherited,
    ...read,
    text: [before, read.text].filter((part) => part !== "").join("\n"),
  };
}

/** What of an item is its text, and what is said before it. */
export function textOf(body: ItemBody): { before: string; content: Content | null } {
  switch (body.kind) {
    case "command":
      return { before: `$ ${body.command}${body.exitCode === null ? "" : ` (exit ${body.exitCode})`}`, content: body.output };
    case "file_change":
      return { before: body.changes.map(({ change, path }) => `${change} ${path}`).join("\n"), content: body.diff };
    case "tool_call":
      return { before: `${body.tool}${body.ok ? "" : " (failed)"}`, content: body.result };
    case "approval":
      return { before: `asks (${body.question}; ${body.options.join(", ")})`, content: body.content };
    case "approval_answer":
      return { before: `${body.by} answered: ${body.answer}`, content: null };
    case "fork_marker":
      return { before: `forked from ${body.sourceThreadId}`, content: null };
    case "handoff":
      return { before: `was told ${body.handoffId}`, content: body.content };
    case "subagent":
      return { before: `subagent ${body.taskId ?? body.childThreadId ?? "of the provider"}`, content: body.content };
    default:
      return { before: "", content: body.content };
  }
}
