import { z } from "zod";
import { EnvironmentId, MoveId, ThreadId } from "../../../schemas/ids.ts";
import { limits } from "../../../schemas/limits.ts";
import { Text } from "../../../schemas/text.ts";
import { clientRequestId, given, providerChoice, servedBy } from "../shapes.ts";
import { defineTool } from "../tool.ts";

/** Answers at once: the move waits for the turn to end, so that an agent can move the thread that it works in. */
export const t3ThreadMove = defineTool({
  name: "t3_thread_move",
  description: "Move a thread to a linked environment once its turn ends, if that has all it needs.",
  access: "starts_threads",
  hints: { openWorld: true },
  input: z.strictObject({
    threadId: ThreadId,
    environmentId: EnvironmentId,
    continuationPrompt: Text.min(1).max(limits.importPromptChars).optional(),
    ...servedBy,
    clientRequestId,
  }),
  output: z.object({ moveId: MoveId, threadId: ThreadId.describe("what it is called there"), repeated: z.boolean() }),
  async run({ threadId, environmentId, continuationPrompt, clientRequestId: id, ...served }, context) {
    const command = {
      type: "thread.move" as const,
      threadId,
      environmentId,
      ...given({ continuationPrompt }),
      ...providerChoice(served),
    };
    const { result, repeated } = await context.dispatch(command, id);
    return { moveId: result.moveId, threadId: result.threadId, repeated };
  },
});
