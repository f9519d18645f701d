import { z } from "zod";
import { RunId, ThreadId } from "../../../schemas/ids.ts";
import { isEndedRun, type Run } from "../../../schemas/run.ts";
import { findRun, findThread } from "../find.ts";
import { refuse } from "../refused.ts";
import { secondsOf } from "../shapes.ts";
import { defineTool, type ToolContext } from "../tool.ts";
import { RunView, runView, runWords } from "../views/run.ts";
import { maxWaitSeconds, usualWaitSeconds, waitInSlices } from "../wait.ts";

export const t3ThreadWait = defineTool({
  name: "t3_thread_wait",
  description: `Wait until a run ends or asks a person, at most ${maxWaitSeconds} s. Not ended? Call again with the runId you got. Never cancels.`,
  access: "reads",
  hints: {},
  input: z.strictObject({ threadId: ThreadId, runId: RunId.optional(), waitSeconds: secondsOf(maxWaitSeconds) }),
  output: RunView,
  async run({ threadId, runId, waitSeconds = usualWaitSeconds }, context) {
    const { environment } = context;
    const pinned = runId === undefined ? newestRun(context, threadId) : findRun(context, threadId, runId);
    const seen = await waitInSlices<Run | null>(context, waitSeconds, {
      wait: (timeoutMs) => environment.runs.wait(pinned.id, { timeoutMs, until: "ended_or_waiting" }),
      enough: (run) => run === null || isEndedRun(run.status) || run.status === "waiting",
      say: runWords,
    });
    return runView(environment, seen ?? pinned);
  },
});

/** The one that works now, else the last one that did. Named in the answer, so that the next call waits for the same. */
function newestRun(context: ToolContext, threadId: ThreadId): Run {
  const thread = findThread(context, threadId);
  const { threads, runs } = context.environment;
  const id =
    thread.activeRunId ?? thread.queue.at(0) ?? threads.items(threadId, { newestFirst: true, ownOnly: true, limit: 1 })[0]?.runId ?? null;
  const run = id === null ? null : runs.get(id);
  if (run === null) refuse("run_not_found", "no_run_yet", `${threadId} has had no run yet`, "Send it a message with t3_thread_send.");
  return run;
}
