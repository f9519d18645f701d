import type { RunId, TaskId, ThreadId } from "../../../schemas/ids.ts";
import { isEndedRun } from "../../../schemas/run.ts";
import { mayChange } from "../access.ts";
import { needPresent, needRun, type Plan, type PlanContext } from "../plan.ts";
import { refuse } from "../refused.ts";
import { openTasksOf, runFrom, threadFrom } from "../typed-actors.ts";

/** Stops a thread's run, what waits behind it, and its open subagents, depth first; or one run alone. */
export const interruptThread: Plan<"thread.interrupt"> = (command, context) => {
  const thread = needPresent(context, command.threadId);
  mayChange(context, thread);
  const reason = command.reason ?? "stopped";
  if (command.runId !== undefined) {
    const run = needRun(context, command.runId);
    if (run.threadId !== thread.id)
      refuse("run_not_found", "unknown_run", `${run.id} is not in ${thread.id}`, "List its runs with: ropewalk run list THREAD");
    if (isEndedRun(run.status))
      refuse("thread_not_interruptible", "run_ended", `${run.id} is ${run.status} already`, "There is nothing to stop.");
    const cancelledTasks = command.children === "keep" ? [] : cancelTasksOf(context, thread.id, reason, run.id);
    context.uow.tell({ to: run.id, event: { type: "run.interrupt_requested", reason } });
    return { threadId: thread.id, runIds: [run.id], cancelledTasks };
  }
  const open = openTasksOf(context.overlay, thread.id);
  if (thread.activeRunId === null && thread.queue.length === 0 && (command.children === "keep" || open.length === 0))
    refuse("thread_not_interruptible", "thread_idle", `${thread.id} is idle`, "There is nothing to stop.");
  const cancelledTasks = command.children === "keep" ? [] : cancelTasksOf(context, thread.id, reason, null);
  return { threadId: thread.id, runIds: interruptRuns(context, thread.id, reason), cancelledTasks };
};

/** Cancels a thread's open subagents, the deepest first (case S09). With `spawnedBy`, only those of one run. */
export function cancelTasksOf(context: PlanContext, threadId: ThreadId, reason: string, spawnedBy: RunId | null): TaskId[] {
  const cancelled: TaskId[] = [];
  for (const task of openTasksOf(context.overlay, threadId)) {
    if (spawnedBy !== null && task.parentRunId !== spawnedBy) continue;
    cancelled.push(...cancelTask(context, task.id, task.childEnvironmentId === null ? task.childThreadId : null, reason));
  }
  return cancelled;
}

/** Cancels one task: what its child has spawned first, then the child's runs; a child elsewhere is asked over its link. */
export function cancelTask(context: PlanContext, taskId: TaskId, localChild: ThreadId | null, reason: string): TaskId[] {
  // The task is told first, so that the end of its child's run is taken as the cancelling that it is.
  context.uow.tell({ to: taskId, event: { type: "task.cancel_requested", reason } });
  if (localChild === null) return [taskId];
  const below = cancelTasksOf(context, localChild, reason, null);
  interruptRuns(context, localChild, reason);
  return [...below, taskId];
}

/** Interrupts what waits, the last first, then the active run, so that none of them gets its turn in between. */
export function interruptRuns(context: PlanContext, threadId: ThreadId, reason: string): RunId[] {
  const thread = threadFrom(context.overlay, threadId);
  if (thread === null) return [];
  const runs = [...thread.queue].reverse();
  if (thread.activeRunId !== null) runs.push(thread.activeRunId);
  for (const to of runs) {
    const run = runFrom(context.overlay, to);
    if (run !== null && !isEndedRun(run.status)) context.uow.tell({ to, event: { type: "run.interrupt_requested", reason } });
  }
  return runs;
}
