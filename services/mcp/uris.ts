import { HandoffId, ItemId, TaskId, ThreadId } from "../../schemas/ids.ts";

/** What can be read as a resource, by its address. */
export type ResourceName =
  | { kind: "thread"; threadId: ThreadId }
  | { kind: "item"; threadId: ThreadId; itemId: ItemId }
  | { kind: "handoff"; handoffId: HandoffId }
  | { kind: "task_result"; taskId: TaskId };

const scheme = "ropewalk://";
export const templates = {
  thread: `${scheme}thread/{threadId}`,
  item: `${scheme}thread/{threadId}/item/{itemId}`,
  handoff: `${scheme}handoff/{handoffId}`,
  taskResult: `${scheme}task/{taskId}/result`,
} as const;

export const threadUri = (id: ThreadId): string => `${scheme}thread/${id}`;

/** Reads an address; null for one that is not ours. Ids hold colons, which hosts may have escaped. */
export function parseUri(uri: string): ResourceName | null {
  if (!uri.startsWith(scheme) || uri.length > 500) return null;
  const [kind, first = "", second, third, ...more] = uri.slice(scheme.length).split("/").map(plain);
  if (more.length > 0) return null;
  if (kind === "thread") {
    const threadId = ThreadId.safeParse(first).data;
    if (threadId === undefined) return null;
    if (second === undefined) return { kind: "thread", threadId };
    const itemId = second === "item" ? ItemId.safeParse(third).data : undefined;
    return itemId === undefined ? null : { kind: "item", threadId, itemId };
  }
  if (kind === "handoff" && second === undefined) {
    const handoffId = HandoffId.safeParse(first).data;
    return handoffId === undefined ? null : { kind: "handoff", handoffId };
  }
  if (kind === "task" && second === "result" && third === undefined) {
    const taskId = TaskId.safeParse(first).data;
    return taskId === undefined ? null : { kind: "task_result", taskId };
  }
  return null;
}

function plain(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
