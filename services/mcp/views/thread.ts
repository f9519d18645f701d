import { z } from "zod";
import { ProjectId, RunId, ThreadId } from "../../../schemas/ids.ts";
import { InteractionMode, RuntimeMode } from "../../../schemas/modes.ts";
import { type AppThread, LinkOrigin, ThreadStatus } from "../../../schemas/thread.ts";

export const ThreadView = z.object({
  threadId: ThreadId,
  title: z.string(),
  status: ThreadStatus,
  projectId: ProjectId,
  runtimeMode: RuntimeMode,
  interactionMode: InteractionMode,
  /** What served it last; null before its first run. */
  provider: z.string().nullable(),
  model: z.string().nullable(),
  parentThreadId: ThreadId.nullable(),
  relationshipToParent: z.enum(["fork", "subagent"]).nullable(),
  historyOrigin: z.enum(["native", "v1_import"]),
  /** The linked environment that started it; null: nobody over a link. */
  linkOrigin: LinkOrigin.nullable(),
  activeRunId: RunId.nullable(),
  queuedRuns: z.number().int(),
  runs: z.number().int(),
  archived: z.boolean(),
  /** Milliseconds since 1970. */
  createdAt: z.number(),
});
export type ThreadView = z.infer<typeof ThreadView>;

export function threadView(thread: AppThread): ThreadView {
  const provider = thread.provider ?? thread.preferred?.provider ?? null;
  return {
    threadId: thread.id,
    title: thread.title,
    status: thread.status,
    projectId: thread.projectId,
    ...thread.modes,
    provider: provider?.instance ?? null,
    model: provider?.model ?? null,
    parentThreadId: thread.lineage.parentThreadId,
    relationshipToParent: thread.lineage.relationshipToParent,
    historyOrigin: thread.historyOrigin,
    linkOrigin: thread.linkOrigin,
    activeRunId: thread.activeRunId,
    queuedRuns: thread.queue.length,
    runs: thread.lastOrdinal,
    archived: thread.marks.archived !== undefined,
    createdAt: thread.createdAt,
  };
}
