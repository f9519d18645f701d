import { z } from "zod";
import { TaskId, type ThreadId } from "../../../schemas/ids.ts";
import { isEndedTask, type Task } from "../../../schemas/task.ts";
import { findTask, findThread } from "../find.ts";
import { secondsOf } from "../shapes.ts";
import { defineTool, type ToolContext } from "../tool.ts";
import { TaskView, taskView } from "../views/task.ts";
import { maxWaitSeconds, waitInSlices } from "../wait.ts";

const listed = 50;

export const taskStatus = defineTool({
  name: "task_status",
  description: "One task with its result, or without taskId the newest tasks. waitSeconds waits for its end; never cancels.",
  access: "reads",
  hints: {},
  input: z.strictObject({ taskId: TaskId.optional(), waitSeconds: secondsOf(maxWaitSeconds) }),
  output: z.object({ tasks: z.array(TaskView) }),
  async run({ taskId, waitSeconds = 0 }, context) {
    const { environment } = context;
    if (taskId === undefined) return { tasks: newest(context).map((task) => ({ ...taskView(environment, task), result: null })) };
    const task = findTask(context, taskId);
    const seen = await waitInSlices<Task | null>(context, waitSeconds, {
      wait: (timeoutMs) => environment.tasks.wait(task.id, { timeoutMs }),
      enough: (now) => now === null || isEndedTask(now.status),
      say: (now) => now?.status ?? "gone",
    });
    return { tasks: [taskView(environment, seen ?? task)] };
  },
});

/** An agent's own tasks; for a client all that there are. */
function newest(context: ToolContext): Task[] {
  const { caller, environment } = context;
  const parent: ThreadId | null = caller.kind === "thread" ? findThread(context, caller.threadId).id : null;
  return environment.tasks.list({ limit: listed, ...(parent !== null && { parent }) });
}
