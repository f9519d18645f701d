import { z } from "zod";
import { RunId, ThreadId } from "../../../schemas/ids.ts";
import { ImportRequest } from "../../../schemas/import.ts";
import { Refusal } from "../../../schemas/refusal.ts";
import { defineTool } from "../tool.ts";

/** Its key is the handoff id: a retry finds the thread that is there, under whatever command id it comes. */
export const t3ThreadImport = defineTool({
  name: "t3_thread_import",
  description:
    "Make a thread from a conversation held elsewhere. continuationPrompt starts a run. Retry with the same ids and content: same thread, created: false.",
  access: "starts_threads",
  hints: { openWorld: true },
  input: ImportRequest,
  output: z.object({
    threadId: ThreadId,
    created: z.boolean(),
    runId: RunId.nullable(),
    continuation: z.enum(["none", "started", "already", "refused"]),
    /** Why the continuation was refused; the import stands, and a retry starts it. */
    refusal: Refusal.optional(),
  }),
  async run(request, context) {
    const { result } = await context.dispatch({ type: "thread.import", import: request }, null);
    return result;
  },
});
