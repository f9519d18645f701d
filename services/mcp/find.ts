import type { ContextHandoff } from "../../schemas/handoff.ts";
import type { HandoffId, RunId, TaskId, ThreadId } from "../../schemas/ids.ts";
import type { Run } from "../../schemas/run.ts";
import type { Task } from "../../schemas/task.ts";
import type { AppThread } from "../../schemas/thread.ts";
import { refuse } from "./refused.ts";
import type { ToolContext } from "./tool.ts";

/** What is read by an id. What the caller may not see is answered exactly as what is not there. */
type Reading = Pick<ToolContext, "environment" | "sight">;

export function findThread({ environment, sight }: Reading, id: ThreadId): AppThread {
  const thread = environment.threads.get(id);
  if (thread === null || thread.status === "deleted" || !sight.sees(thread))
    refuse("thread_not_found", "unknown_thread", `there is no thread ${id}`, "List threads with t3_thread_list.");
  return thread;
}

export function findRun(context: Reading, threadId: ThreadId, id: RunId): Run {
  findThread(context, threadId);
  const run = context.environment.runs.get(id);
  if (run === null || run.threadId !== threadId)
    refuse("run_not_found", "unknown_run", `there is no run ${id} in ${threadId}`, "Leave runId out to wait for the newest run.");
  return run;
}

export function findTask(context: Reading, id: TaskId): Task {
  const task = context.environment.tasks.get(id);
  const parent = task === null ? null : context.environment.threads.get(task.parentThreadId);
  if (task === null || parent === null || !context.sight.sees(parent))
    refuse("task_not_found", "unknown_task", `there is no task ${id}`, "List your tasks with task_status, without taskId.");
  return task;
}

export function findHandoff(context: Reading, id: HandoffId): ContextHandoff | null {
  const handoff = context.environment.transfers.handoff(id);
  const transfer = handoff === null ? null : context.environment.transfers.get(handoff.transferId);
  const target = transfer === null ? null : context.environment.threads.get(transfer.targetThreadId);
  return target === null || !context.sight.sees(target) ? null : handoff;
}
