import { z } from "zod";
import type { PublicCommand } from "./command.ts";
import { ItemId, LinkId, MoveId, ProjectId, RequestId, RunId, TaskId, ThreadId, TransferId } from "./ids.ts";
import { DroppedMessages } from "./link.ts";
import { WorktreeSettings } from "./project.ts";
import { ProviderInstanceId } from "./provider.ts";
import { Digest } from "./text.ts";
import { LinkOrigin } from "./thread.ts";

const started = z.object({ threadId: ThreadId, runId: RunId, ordinal: z.number().int().positive(), messageItemId: ItemId });
const ofThread = z.object({ threadId: ThreadId });
const undone = { threadId: ThreadId, runIds: z.array(RunId), workspace: z.enum(["restored", "untouched"]) };
const requested = z.object({ requestId: RequestId, threadId: ThreadId });

/** What each public command answers, by type. */
export const commandResults = {
  "project.add": z.object({ projectId: ProjectId, created: z.boolean() }),
  "project.configure": z.object({ projectId: ProjectId, worktrees: WorktreeSettings }),
  "thread.create": ofThread,
  "thread.launch": started,
  "thread.send": started,
  "thread.fork": z.object({ threadId: ThreadId, transferId: TransferId }),
  "thread.switch": z.object({ threadId: ThreadId, provider: ProviderInstanceId }),
  "thread.merge_back": z.object({ transferId: TransferId, into: ThreadId, supersedes: TransferId.nullable() }),
  "thread.import": z.object({
    threadId: ThreadId,
    created: z.boolean(),
    runId: RunId.nullable(),
    continuation: z.enum(["none", "started", "already", "refused"]),
  }),
  "thread.import_bundle": z.object({ threadId: ThreadId, created: z.boolean(), content: Digest }),
  "thread.import_to": requested,
  "link.import": requested,
  /** `threadId`: what it will be called there. */
  "thread.move": z.object({ moveId: MoveId, threadId: ThreadId, requestId: RequestId }),
  "thread.move_cancel": z.object({ moveId: MoveId, outcome: z.enum(["cancelled", "asked"]) }),
  "thread.interrupt": z.object({ threadId: ThreadId, runIds: z.array(RunId), cancelledTasks: z.array(TaskId) }),
  "thread.rename": ofThread,
  "thread.set_modes": ofThread,
  "thread.mark": ofThread,
  /** `workspace`: whether the thread's own worktree goes back too. */
  "thread.undo": z.object({ ...undone, to: RunId.nullable() }),
  "thread.redo": z.object(undone),
  /** `keptFor`: forks for which its history stays readable; the others: what was stopped. */
  "thread.delete": z.object({
    threadId: ThreadId,
    keptFor: z.array(ThreadId),
    runIds: z.array(RunId),
    cancelledTasks: z.array(TaskId),
  }),
  /** `already`: there was nothing left of it. */
  "thread.purge": z.object({
    threadId: ThreadId,
    keptFor: z.array(ThreadId),
    runIds: z.array(RunId),
    cancelledTasks: z.array(TaskId),
    already: z.boolean(),
  }),
  "thread.adopt": z.object({ threadId: ThreadId, from: LinkOrigin }),
  "run.answer": z.object({ runId: RunId }),
  "task.spawn": z.object({
    taskId: TaskId,
    childThreadId: ThreadId.nullable(),
    runId: RunId.nullable(),
    requestId: RequestId.nullable(),
  }),
  "task.cancel": z.object({ taskId: TaskId, cancelled: z.array(TaskId) }),
  /** `stopped`: threads that it had at work here; `unsent`: messages that the peer's store never had. */
  "link.revoke": z.object({ linkId: LinkId, stopped: z.array(ThreadId), unsent: z.number().int().nonnegative() }),
  "link.forget": z.object({
    linkId: LinkId,
    stopped: z.array(ThreadId),
    dismissedTasks: z.array(TaskId),
    givenUpRequests: z.number().int().nonnegative(),
    dropped: DroppedMessages,
    /** What to go on with in place of threads that were on their way there. */
    newThreads: z.array(ThreadId),
  }),
  /** `again`: messages that go out once more; `open`: requests of ours that have no answer. */
  "link.rejoin": z.object({ linkId: LinkId, again: z.number().int().nonnegative(), open: z.array(RequestId) }),
  "task.dismiss": z.object({ taskId: TaskId }),
} as const satisfies { readonly [type in PublicCommand["type"]]: z.ZodType };

export type ResultOf = { [type in keyof typeof commandResults]: z.infer<(typeof commandResults)[type]> };
