import type { Emission } from "../schemas/emission.ts";
import type { ThreadEvent } from "../schemas/events/thread.ts";
import type { Refusal } from "../schemas/refusal.ts";
import type { ThreadContext } from "../schemas/thread.ts";

type Ended = Extract<ThreadEvent, { type: "thread.run_ended" }>;

/** What a child's thread tells of an ended run: to its task here, or over the link to the environment that owns the task. */
export function resultNews(context: Pick<ThreadContext, "id" | "task">, event: Ended): Emission[] {
  if (context.task === null) return [];
  const news = {
    childThreadId: context.id,
    runId: event.runId,
    ordinal: event.ordinal,
    ending: event.ending,
    result: event.result,
    error: event.error,
  };
  const { taskId, environmentId } = context.task;
  return environmentId === null
    ? [{ type: "tell", to: taskId, event: { type: "task.child_run_ended", ...news } }]
    : [{ type: "link.notice", to: environmentId, notice: { kind: "task.result", taskId, ...news } }];
}

/** What a child's deletion tells its parent of the run that it ended. */
export const deletedError: Refusal = {
  code: "orchestration_error",
  reason: "thread_deleted",
  message: "the subagent's thread was deleted",
  hint: "Spawn another one if this is still needed.",
};
