import type { ThreadId } from "../../../schemas/ids.ts";
import { createdBy } from "../access.ts";
import { needThread, type Plan } from "../plan.ts";
import { createThread } from "./thread-create.ts";
import { queueRun } from "./thread-send.ts";

/** A thread and its first run in one commit: none of them is ever there without the other. */
export const launchThread: Plan<"thread.launch"> = ({ type: _, text, ...wish }, context) => {
  const { threadId } = createThread({ type: "thread.create", ...wish }, context) as { threadId: ThreadId };
  const thread = needThread(context, threadId);
  // Who is to serve it is what the thread prefers.
  const run = { content: { text }, requested: null, modes: thread.modes, createdBy: createdBy(context.caller) };
  return { threadId, ...queueRun(context, thread, run) };
};
