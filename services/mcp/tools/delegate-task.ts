import { z } from "zod";
import { EnvironmentId, RunId, TaskId, ThreadId } from "../../../schemas/ids.ts";
import { MessageText, Title } from "../../../schemas/text.ts";
import { refuse } from "../refused.ts";
import { clientRequestId, given, modes, providerChoice, servedBy } from "../shapes.ts";
import { defineTool, type ToolContext } from "../tool.ts";

export const delegateTask = defineTool({
  name: "delegate_task",
  description:
    "Give a subagent a task, here or in a linked environment. It knows only prompt and handedOver. Returns at once; its result reaches your next run, or ask task_status.",
  access: "starts_threads",
  hints: { openWorld: true },
  input: z.strictObject({
    prompt: MessageText,
    handedOver: MessageText.optional(),
    title: Title.optional(),
    parentThreadId: ThreadId.optional(),
    ...servedBy,
    environmentId: EnvironmentId.optional(),
    ...modes,
    clientRequestId,
  }),
  output: z.object({ taskId: TaskId, childThreadId: ThreadId.nullable(), runId: RunId.nullable(), repeated: z.boolean() }),
  async run(
    { prompt, handedOver, title, parentThreadId, environmentId, runtimeMode, interactionMode, clientRequestId: id, ...served },
    context,
  ) {
    const command = {
      type: "task.spawn" as const,
      parentThreadId: parentThreadId ?? ownThread(context),
      prompt,
      ...given({ handedOver, title, environmentId, runtimeMode, interactionMode }),
      ...providerChoice(served),
    };
    const { result, repeated } = await context.dispatch(command, id);
    return { taskId: result.taskId, childThreadId: result.childThreadId, runId: result.runId, repeated };
  },
});

function ownThread({ caller }: ToolContext): ThreadId {
  if (caller.kind === "thread") return caller.threadId;
  refuse(
    "invalid_request",
    "no_parent",
    "only a thread's agent has a thread of its own",
    "Name the thread that the subagent works for: parentThreadId.",
  );
}
