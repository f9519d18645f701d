import { isEndedTask } from "../../../schemas/task.ts";
import { mayChange } from "../access.ts";
import { needTask, needThread, type Plan } from "../plan.ts";
import { refuse } from "../refused.ts";
import { cancelTask } from "./thread-interrupt.ts";

/** Asks a subagent to stop, with everything below it. It ends when its child has ended, wherever that is. */
export const cancelTaskByCommand: Plan<"task.cancel"> = (command, context) => {
  const task = needTask(context, command.taskId);
  mayChange(context, needThread(context, task.parentThreadId));
  if (isEndedTask(task.status))
    refuse("task_not_cancellable", "task_ended", `${task.id} is ${task.status} already`, "There is nothing to cancel.");
  if (task.status === "cancelling") return { taskId: task.id, cancelled: [] };
  const child = task.childEnvironmentId === null ? task.childThreadId : null;
  return { taskId: task.id, cancelled: cancelTask(context, task.id, child, command.reason ?? "cancelled") };
};

/** A person's own word that nobody waits for a task any more, e.g. because its machine is gone (contract §6). */
export const dismissTask: Plan<"task.dismiss"> = (command, context) => {
  const task = needTask(context, command.taskId);
  if (context.caller.kind !== "user") refuse("capability_denied", "person_only", "only a person can dismiss a task", "Cancel it instead.");
  if (isEndedTask(task.status))
    refuse("task_not_cancellable", "task_ended", `${task.id} is ${task.status} already`, "There is nothing to dismiss.");
  context.uow.tell({ to: task.id, event: { type: "task.dismissed", reason: command.reason ?? "given up" } });
  return { taskId: task.id };
};
