import { narrower } from "../../../schemas/modes.ts";
import { liveLink } from "../access.ts";
import type { Plan } from "../plan.ts";
import { openTransfersTo, runsOf, taskFrom, threadFrom } from "../typed-actors.ts";
import { queueRun } from "./thread-send.ts";

/**
 * Results of subagents that an agent spawned start one run of their own when their parent is idle; those that are there
 * are told together (decision 30, case S05). A wake-up that failed is not tried again by itself, and what somebody stopped
 * does not start again by the ends that the stop itself brought about (case S09): what waits goes with the next message.
 */
export const wakeThread: Plan<"thread.wake"> = (command, context) => {
  const thread = threadFrom(context.overlay, command.threadId);
  if (thread === null || thread.status !== "idle" || thread.queue.length > 0) return { started: false };
  // Nobody has asked for it any more.
  if (thread.linkOrigin !== null && liveLink(context, thread.linkOrigin.linkId) === null) return { started: false };
  const results = openTransfersTo(context.overlay, thread.id).filter(
    (t) =>
      t.type === "subagent_result" && t.claim === null && t.taskId !== null && taskFrom(context.overlay, t.taskId)?.spawnedBy === "agent",
  );
  if (results.every((t) => t.outcome?.ending === "cancelled")) return { started: false };
  const [last] = runsOf(context.overlay, thread.id, { min: thread.lastOrdinal, max: thread.lastOrdinal });
  if (last !== undefined && last.createdBy === "system" && last.status !== "completed") return { started: false };
  if (last !== undefined && last.attempt !== null && last.status === "interrupted" && last.interruptReason !== null)
    return { started: false };
  const names = results.map((t) => `"${(t.taskId === null ? null : taskFrom(context.overlay, t.taskId))?.title ?? "task"}"`);
  const text =
    names.length === 1
      ? `The subagent task ${names[0]} has ended; its result is above.`
      : `${names.length} subagent tasks have ended; their results are above: ${names.join(", ")}.`;
  // Nobody has asked for more than the run before had.
  const modes = last === undefined ? thread.modes : narrower(thread.modes, last.modes);
  const run = queueRun(context, thread, { content: { text }, requested: null, modes, createdBy: "system" });
  return { started: true, runId: run.runId };
};
