import type { ForkPoint } from "../../../schemas/command.ts";
import type { CheckpointId, RunId, ThreadId, TransferId } from "../../../schemas/ids.ts";
import type { Run } from "../../../schemas/run.ts";
import type { AppThread, MayAlsoLive } from "../../../schemas/thread.ts";
import { createdBy, mayChange, originOf } from "../access.ts";
import { historyOf, inheritsAsOf, latestStablePoint } from "../history.ts";
import { addItem, needPresent, needRun, type Plan, type PlanContext } from "../plan.ts";
import { refuse } from "../refused.ts";
import { pointAt } from "../source-point.ts";
import { threadFrom } from "../typed-actors.ts";
import { blankThread, chosenWorkspace, ownWorkspace } from "./thread-create.ts";

/** A point that a fork can be made at: `threadId` is the thread whose run it is, which an inherited run keeps (case F04). */
type StableAt = { threadId: ThreadId; runId: RunId | null; ordinal: number; checkpointId: CheckpointId };

/**
 * The target thread and a pending transfer in one commit, and nothing else: no provider session, no native thread, no
 * handoff, no choice of a provider (contract §6, Fork).
 */
export const forkThread: Plan<"thread.fork"> = (command, context) => {
  const source = needPresent(context, command.threadId);
  mayChange(context, source);
  const at = resolvePoint(context, source, command.at);
  return makeFork(context, source, at, {
    givenAs: command.at.kind,
    title: command.title ?? source.title,
    workspace: chosenWorkspace(context, source, command.workspace),
  });
};

/** What a person goes on with in place of a thread that may live elsewhere: a fork of its last checkpoint (links.md, Moves). */
export function makeStandIn(context: PlanContext, source: AppThread, mayAlsoLive: MayAlsoLive): ThreadId | null {
  const at = latestStablePoint(source);
  if (at === null) return null;
  const given = { givenAs: "latest_stable" as const, title: source.title, workspace: ownWorkspace(context, source), mayAlsoLive };
  return makeFork(context, source, withCheckpoint(context, at), given).threadId;
}

type Fork = { givenAs: ForkPoint["kind"]; title: string; workspace: AppThread["workspace"]; mayAlsoLive?: MayAlsoLive };

function makeFork(context: PlanContext, source: AppThread, at: StableAt, fork: Fork): { threadId: ThreadId; transferId: TransferId } {
  const id = context.uow.ids.next("thread");
  const transferId = context.uow.ids.next("transfer");
  const actor = createdBy(context.caller);
  context.uow.create(id, {
    type: "thread.created",
    input: {
      ...blankThread(id),
      projectId: source.projectId,
      title: fork.title,
      lineage: {
        parentThreadId: source.id,
        parentEnvironmentId: null,
        relationshipToParent: "fork",
        rootThreadId: source.lineage.rootThreadId,
      },
      inherited: { threadId: at.threadId, runId: at.runId, ordinal: at.ordinal, ...takenOver(source, at) },
      modes: source.modes,
      workspace: fork.workspace,
      ...(fork.mayAlsoLive !== undefined && { mayAlsoLive: fork.mayAlsoLive }),
      linkOrigin: originOf(context, source),
      depth: source.depth,
      createdBy: actor,
    },
  });
  context.uow.create(transferId, {
    type: "transfer.created",
    input: {
      id: transferId,
      type: "fork",
      sourceThreadId: source.id,
      targetThreadId: id,
      sourcePoint: pointAt({ ...at, givenAs: fork.givenAs }),
      basePoint: null,
      sourceProvider: sourceProvider(context, at),
      targetProvider: null,
      supersedes: null,
      createdBy: actor,
      taskId: null,
      content: null,
      outcome: null,
    },
  });
  addItem(context, {
    threadId: id,
    runId: null,
    runOrdinal: 0,
    body: { kind: "fork_marker", sourceThreadId: source.id, sourceRunId: at.runId, transferId },
  });
  return { threadId: id, transferId };
}

function resolvePoint(context: PlanContext, source: AppThread, point: ForkPoint): StableAt {
  switch (point.kind) {
    case "latest_stable": {
      const at = latestStablePoint(source);
      if (at === null)
        refuse("invalid_request", "no_stable_point", `${source.id} has no completed run yet`, "Wait until a run has completed, then fork.");
      return withCheckpoint(context, at);
    }
    case "run":
      return atRun(context, source, needRun(context, point.runId));
    case "checkpoint": {
      const checkpoint = context.overlay.checkpoint(point.checkpointId);
      if (checkpoint === null || !inHistory(context, source, checkpoint.threadId, checkpoint.ordinal))
        refuse(
          "invalid_request",
          "unknown_checkpoint",
          `${source.id} has no checkpoint ${point.checkpointId}`,
          "Fork at a run, or at the latest stable point.",
        );
      return { threadId: checkpoint.threadId, runId: checkpoint.runId, ordinal: checkpoint.ordinal, checkpointId: checkpoint.id };
    }
    case "provider_thread": {
      const native = context.overlay.providerThread(point.providerThreadId);
      if (native === null || native.threadId !== source.id || native.lastRunId === null)
        refuse(
          "invalid_request",
          "unknown_provider_thread",
          `${source.id} has no provider thread ${point.providerThreadId} with a known run`,
          "Fork at a run instead.",
        );
      return atRun(context, source, needRun(context, native.lastRunId));
    }
  }
}

function atRun(context: PlanContext, source: AppThread, run: Run): StableAt {
  if (!inHistory(context, source, run.threadId, run.ordinal))
    refuse("run_not_found", "unknown_run", `${run.id} is not in ${source.id}`, "List its runs with: ropewalk run list THREAD");
  if (run.status !== "completed" || run.checkpointId === null) {
    const active = !["failed", "interrupted", "rolled_back"].includes(run.status);
    refuse(
      "invalid_request",
      active ? "source_run_active" : "no_stable_point",
      `${run.id} is ${run.status}: only a completed run can be forked at`,
      active ? "Wait until it has completed, or fork at an earlier run." : "Fork at an earlier, completed run.",
    );
  }
  return { threadId: run.threadId, runId: run.id, ordinal: run.ordinal, checkpointId: run.checkpointId };
}

const inHistory = (context: PlanContext, source: AppThread, threadId: ThreadId, ordinal: number) =>
  historyOf(context.overlay, source.id).some((s) => s.threadId === threadId && ordinal <= s.toOrdinal);

function withCheckpoint(context: PlanContext, at: { threadId: ThreadId; runId: RunId | null; ordinal: number }): StableAt {
  if (at.runId !== null) {
    const checkpointId = needRun(context, at.runId).checkpointId;
    if (checkpointId !== null) return { ...at, checkpointId };
  }
  const imported = threadFrom(context.overlay, at.threadId)?.latestStable;
  const first =
    imported?.ordinal === 0 ? imported.checkpointId : context.overlay.store.checkpointsOf(at.threadId).find((c) => c.ordinal === 0)?.id;
  if (first === undefined)
    refuse("invalid_request", "no_stable_point", `${at.threadId} has no stable point`, "Wait until a run has completed, then fork.");
  return { ...at, checkpointId: first };
}

function sourceProvider(context: PlanContext, at: StableAt): string | null {
  return at.runId === null ? null : (needRun(context, at.runId).provider?.instance ?? null);
}

/** A fork of a fork at an inherited point shows what the fork shows, whatever the owner has taken back since. */
function takenOver(source: AppThread, at: StableAt): { asOf?: number } {
  const asOf = at.threadId === source.id ? undefined : inheritsAsOf(source);
  return asOf === undefined ? {} : { asOf };
}
