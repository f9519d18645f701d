import { z } from "zod";
import { TaskId } from "../../../schemas/ids.ts";
import { Text } from "../../../schemas/text.ts";
import { clientRequestId, given } from "../shapes.ts";
import { defineTool } from "../tool.ts";

export const taskCancel = defineTool({
  name: "task_cancel",
  description: "Stop a subagent and what it has delegated. Its end still comes as a result.",
  access: "writes",
  hints: { destructive: true },
  input: z.strictObject({ taskId: TaskId, reason: Text.max(2_000).optional(), clientRequestId }),
  output: z.object({ taskId: TaskId, cancelled: z.array(TaskId), repeated: z.boolean() }),
  async run({ taskId, reason, clientRequestId: id }, context) {
    const { result, repeated } = await context.dispatch({ type: "task.cancel", taskId, ...given({ reason }) }, id);
    return { ...result, repeated };
  },
});
