import { z } from "zod";
import { RunId, TaskId, ThreadId } from "../../../schemas/ids.ts";
import { Text } from "../../../schemas/text.ts";
import { clientRequestId, given } from "../shapes.ts";
import { defineTool } from "../tool.ts";

export const t3ThreadInterrupt = defineTool({
  name: "t3_thread_interrupt",
  description: "Stop a thread's work and its subagents, with what waits; or one run.",
  access: "writes",
  hints: { destructive: true },
  input: z.strictObject({
    threadId: ThreadId,
    runId: RunId.optional(),
    children: z.enum(["cancel", "keep"]).optional(),
    reason: Text.max(2_000).optional(),
    clientRequestId,
  }),
  output: z.object({ threadId: ThreadId, runIds: z.array(RunId), cancelledTasks: z.array(TaskId), repeated: z.boolean() }),
  async run({ threadId, runId, children, reason, clientRequestId: id }, context) {
    const command = { type: "thread.interrupt" as const, threadId, ...given({ runId, children, reason }) };
    const { result, repeated } = await context.dispatch(command, id);
    return { ...result, repeated };
  },
});
