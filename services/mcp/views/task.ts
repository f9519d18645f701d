import { z } from "zod";
import { EnvironmentId, TaskId, ThreadId } from "../../../schemas/ids.ts";
import { isEndedTask, type Task, TaskStatus } from "../../../schemas/task.ts";
import type { Environment } from "../../runtime/environment-api.ts";
import { readContent } from "./text.ts";

const resultChars = 16_000;

export const TaskView = z.object({
  taskId: TaskId,
  title: z.string(),
  status: TaskStatus,
  ended: z.boolean(),
  parentThreadId: ThreadId,
  childThreadId: ThreadId.nullable(),
  /** Where the child runs; null: here. */
  environmentId: EnvironmentId.nullable(),
  /** What the child answered last, once one of its runs has ended. Its parent's next run is told it, too. */
  result: z.string().nullable(),
  /** Set where `result` is only the beginning: bytes of the whole. */
  cutFromBytes: z.number().int().optional(),
  reason: z.string().nullable(),
  failure: z.object({ code: z.string(), reason: z.string(), message: z.string() }).nullable(),
});
export type TaskView = z.infer<typeof TaskView>;

export function taskView(environment: Environment, task: Task): TaskView {
  const transfer = task.lastResultTransferId === null ? null : environment.transfers.get(task.lastResultTransferId);
  const result = transfer?.content == null ? null : readContent(environment, transfer.content, resultChars);
  const { error } = task;
  return {
    taskId: task.id,
    title: task.title,
    status: task.status,
    ended: isEndedTask(task.status),
    parentThreadId: task.parentThreadId,
    childThreadId: task.childThreadId,
    environmentId: task.childEnvironmentId,
    result: result?.text ?? null,
    ...(result?.cutFromBytes !== undefined && { cutFromBytes: result.cutFromBytes }),
    reason: task.reason,
    failure: error === null ? null : { code: error.code, reason: error.reason, message: error.message },
  };
}
