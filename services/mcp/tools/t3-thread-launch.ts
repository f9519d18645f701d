import { z } from "zod";
import { ProjectId, RunId, ThreadId } from "../../../schemas/ids.ts";
import { MessageText, Text, Title } from "../../../schemas/text.ts";
import { clientRequestId, given, modes, providerChoice, servedBy } from "../shapes.ts";
import { defineTool } from "../tool.ts";

export const t3ThreadLaunch = defineTool({
  name: "t3_thread_launch",
  description: "Start a new thread with a message; then t3_thread_wait.",
  access: "starts_threads",
  hints: { openWorld: true },
  input: z.strictObject({
    prompt: MessageText,
    title: Title.optional(),
    projectId: ProjectId.optional(),
    worktreePath: Text.min(1).optional(),
    ...servedBy,
    ...modes,
    clientRequestId,
  }),
  output: z.object({ threadId: ThreadId, runId: RunId, repeated: z.boolean() }),
  async run({ prompt, title, projectId, worktreePath, runtimeMode, interactionMode, clientRequestId: id, ...served }, context) {
    const choice = providerChoice(served);
    const workspace = worktreePath === undefined ? {} : { workspace: { strategy: "existing" as const, path: worktreePath } };
    const wish = given({ title, projectId, runtimeMode, interactionMode });
    const { result, repeated } = await context.dispatch({ type: "thread.launch", text: prompt, ...wish, ...choice, ...workspace }, id);
    return { threadId: result.threadId, runId: result.runId, repeated };
  },
});
