import { z } from "zod";
import { ThreadId, TransferId } from "../../../schemas/ids.ts";
import { clientRequestId } from "../shapes.ts";
import { defineTool } from "../tool.ts";

export const t3ThreadMergeBack = defineTool({
  name: "t3_thread_merge_back",
  description: "Tell a fork's parent, with its next message, what the fork found since.",
  access: "writes_threads",
  hints: {},
  input: z.strictObject({ threadId: ThreadId.describe("the fork"), clientRequestId }),
  output: z.object({ transferId: TransferId, into: ThreadId, supersedes: TransferId.nullable(), repeated: z.boolean() }),
  async run({ threadId, clientRequestId: id }, context) {
    const { result, repeated } = await context.dispatch({ type: "thread.merge_back", threadId }, id);
    return { ...result, repeated };
  },
});
