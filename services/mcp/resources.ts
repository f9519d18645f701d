import type { ReadResourceResult, Resource } from "@modelcontextprotocol/server";
import { z } from "zod";
import { ThreadId } from "../../schemas/ids.ts";
import { fromCursor, toCursor } from "./cursor.ts";
import { findHandoff, findTask, findThread } from "./find.ts";
import type { ToolContext } from "./tool.ts";
import { parseUri, type ResourceName, templates, threadUri } from "./uris.ts";
import { itemView, textOf } from "./views/item.ts";
import { wholeContent } from "./views/text.ts";
import { threadView } from "./views/thread.ts";

type Reading = Pick<ToolContext, "environment" | "sight">;
const listedPage = 50;
const threadItems = 50;
const itemChars = 4_000;
const Place = z.object({ after: ThreadId });

export const resourceTemplates = [
  { uriTemplate: templates.thread, name: "thread", description: "A thread and its newest items.", mimeType: "application/json" },
  { uriTemplate: templates.item, name: "item", description: "The whole text of one item of a thread.", mimeType: "text/plain" },
  {
    uriTemplate: templates.handoff,
    name: "handoff",
    description: "Exactly what an agent was told, then its budget, its size and what was left out.",
    mimeType: "text/plain",
  },
  {
    uriTemplate: templates.taskResult,
    name: "task result",
    description: "The whole of what a subagent answered last.",
    mimeType: "text/plain",
  },
];

/** Threads as resources, newest first, in pages. */
export function listResources({ environment, sight }: Reading, cursor: string | undefined): { resources: Resource[]; nextCursor?: string } {
  const after = cursor === undefined ? undefined : fromCursor(cursor, Place).after;
  const listed = environment.threads.list({ limit: listedPage, ...(after !== undefined && { after }) });
  const last = listed.at(-1);
  const resources = listed
    .filter((thread) => sight.sees(thread))
    .map((thread) => ({
      uri: threadUri(thread.id),
      name: thread.id,
      title: thread.title === "" ? "untitled thread" : thread.title,
      description: `${thread.status}, ${thread.lastOrdinal} runs`,
      mimeType: "application/json",
    }));
  return { resources, ...(last !== undefined && listed.length === listedPage && { nextCursor: toCursor({ after: last.id }) }) };
}

/** Null for an address that is not ours, or of something that is not there. */
export function readResource(reading: Reading, uri: string): ReadResourceResult | null {
  const name = parseUri(uri);
  return name === null ? null : readers[name.kind](reading, uri, name as never);
}

type Reader<K extends ResourceName["kind"]> = (
  reading: Reading,
  uri: string,
  name: Extract<ResourceName, { kind: K }>,
) => ReadResourceResult | null;

const readers: { [K in ResourceName["kind"]]: Reader<K> } = {
  thread(reading, uri, { threadId }) {
    const thread = findThread(reading, threadId);
    const { threads } = reading.environment;
    const items = threads.items(threadId, { newestFirst: true, limit: threadItems }).reverse();
    return json(uri, { thread: threadView(thread), items: items.map((item) => itemView(reading.environment, item, itemChars)) });
  },
  item(reading, uri, { threadId, itemId }) {
    findThread(reading, threadId);
    const item = reading.environment.threads.item(itemId);
    const owner = item === null ? null : reading.environment.threads.get(item.threadId);
    // An inherited item belongs to another thread; whoever may see that one may read it.
    if (item === null || owner === null || !reading.sight.sees(owner)) return null;
    const { before, content } = textOf(item.body);
    const text = content === null ? "" : wholeContent(reading.environment, content);
    return plain(uri, [before, text].filter((part) => part !== "").join("\n"));
  },
  handoff(reading, uri, { handoffId }) {
    const handoff = findHandoff(reading, handoffId);
    if (handoff === null) return null;
    const { payload, ...about } = handoff;
    return { contents: [...plain(uri, payload).contents, ...json(`${uri}#about`, about).contents] };
  },
  task_result(reading, uri, { taskId }) {
    const task = findTask(reading, taskId);
    const transfer = task.lastResultTransferId === null ? null : reading.environment.transfers.get(task.lastResultTransferId);
    return transfer?.content == null ? null : plain(uri, wholeContent(reading.environment, transfer.content));
  },
};

const plain = (uri: string, text: string): ReadResourceResult => ({ contents: [{ uri, mimeType: "text/plain", text }] });
const json = (uri: string, value: object): ReadResourceResult => ({
  contents: [{ uri, mimeType: "application/json", text: JSON.stringify(value) }],
});
