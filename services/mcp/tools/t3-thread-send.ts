import { z } from "zod";
import { RunId, ThreadId } from "../../../schemas/ids.ts";
import { MessageText } from "../../../schemas/text.ts";
import { clientRequestId, providerChoice, servedBy } from "../shapes.ts";
import { defineTool } from "../tool.ts";

export const t3ThreadSend = defineTool({
  name: "t3_thread_send",
  description:
    "Send a message to a thread; while it works, the message waits its turn. Naming another provider hands the conversation over. Then t3_thread_wait.",
  access: "writes_threads",
  hints: { openWorld: true },
  input: z.strictObject({ threadId: ThreadId, text: MessageText, ...servedBy, clientRequestId }),
  output: z.object({ threadId: ThreadId, runId: RunId, ordinal: z.int(), repeated: z.boolean() }),
  async run({ threadId, text, clientRequestId: id, ...served }, context) {
    const { result, repeated } = await context.dispatch({ type: "thread.send", threadId, text, ...providerChoice(served) }, id);
    return { threadId, runId: result.runId, ordinal: result.ordinal, repeated };
  },
});
