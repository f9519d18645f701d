import type { RunId } from "../../../schemas/ids.ts";
import type { Run } from "../../../schemas/run.ts";
import { needRun, type Plan, type PlanContext } from "../plan.ts";
import { runFrom, threadFrom, transferFrom } from "../typed-actors.ts";

/** The run while the named attempt still prepares it; null for late news, which changes nothing. */
function preparing(context: PlanContext, runId: RunId, attemptId: string, status: Run["status"] = "preparing"): Run | null {
  const run = runFrom(context.overlay, runId);
  return run !== null && run.status === status && run.attempt?.id === attemptId ? run : null;
}

const late = { ignored: true } as const;

/** Makes the transfers that the start needs and claims all that it works on, in one commit. */
export const claimForRun: Plan<"run.claim"> = (command, context) => {
  if (preparing(context, command.runId, command.attemptId) === null) return late;
  for (const input of command.create) {
    context.uow.create(input.id, { type: "transfer.created", input });
    if (input.supersedes !== null) context.uow.tell({ to: input.supersedes, event: { type: "transfer.superseded", by: input.id } });
  }
  for (const to of command.notNeeded) context.uow.tell({ to, event: { type: "transfer.superseded", by: null } });
  context.uow.tell({
    to: command.runId,
    event: { type: "run.claimed", attemptId: command.attemptId, provider: command.provider, transferIds: command.claim },
  });
  return {};
};

/** The start is decided: artefacts are kept, transfers resolved, and the provider may be given its input. */
export const runPrepared: Plan<"run.prepared"> = (command, context) => {
  const run = preparing(context, command.runId, command.attemptId);
  if (run === null) return late;
  for (const handoff of command.handoffs) context.overlay.addHandoff(handoff);
  for (const { transferId, ...resolved } of command.resolutions) {
    // A resolution that still fits is used as it is (contract §4).
    if (transferFrom(context.overlay, transferId)?.status !== "pending") continue;
    context.uow.tell({
      to: transferId,
      event: { type: "transfer.resolved", runId: command.runId, attemptId: command.attemptId, ...resolved },
    });
  }
  const thread = threadFrom(context.overlay, run.threadId);
  const place = (thread?.workspace.strategy === "worktree" && thread.workspace.path === null) || thread?.restoring != null;
  context.uow.tell({
    to: command.runId,
    event: { type: "run.prepared", attemptId: command.attemptId, plan: command.plan, ...(place && { place }) },
  });
  return {};
};

/** The thread has its folder, also when the run that asked for it was taken back meanwhile. */
export const runPlaced: Plan<"run.placed"> = (command, context) => {
  const run = needRun(context, command.runId);
  const thread = threadFrom(context.overlay, run.threadId);
  if (thread?.workspace.strategy === "worktree" && thread.workspace.path === null)
    context.uow.tell({ to: run.threadId, event: { type: "thread.placed", workspace: command.workspace } });
  if (thread?.restoring != null && command.restored === thread.restoring.keepAs)
    context.uow.tell({ to: run.threadId, event: { type: "thread.files_restored", keepAs: command.restored } });
  if (preparing(context, command.runId, command.attemptId, "placing") === null) return late;
  context.uow.tell({ to: command.runId, event: { type: "run.placed", attemptId: command.attemptId } });
  return {};
};

/** An explicit failure before any provider work; the message stays (contract §5). */
export const runUnprepared: Plan<"run.unprepared"> = (command, context) => {
  const { runId, attemptId } = command;
  if (preparing(context, runId, attemptId) === null && preparing(context, runId, attemptId, "placing") === null) return late;
  context.uow.tell({
    to: command.runId,
    event: { type: "run.unprepared", attemptId: command.attemptId, error: command.error, failed: command.failed },
  });
  return {};
};
