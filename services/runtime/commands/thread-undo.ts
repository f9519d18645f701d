import type { ProviderThread } from "../../../schemas/provider.ts";
import type { Run } from "../../../schemas/run.ts";
import type { AppThread, Restoring, Undone } from "../../../schemas/thread.ts";
import { mayChange } from "../access.ts";
import { needPresent, type Plan, type PlanContext } from "../plan.ts";
import { refuse } from "../refused.ts";
import { openTasksOf } from "../typed-actors.ts";
import { undoPoint } from "../undo-point.ts";

/**
 * Takes a thread's later runs back, and its own worktree with them (contract §7). The user's folder stays as it is. Native
 * conversations that know what was taken back are marked: the next run takes them back too, or forks, or retells.
 */
export const undoThread: Plan<"thread.undo"> = (command, context) => {
  const thread = needIdle(context, command.threadId);
  const { keep, taken, stable } = undoPoint(context.overlay, thread, command.to);
  const toOrdinal = keep?.ordinal ?? 0;
  const keepAs = `undone-${context.uow.ids.uuid()}`;
  const hasWorktree = thread.workspace.strategy === "worktree" && thread.workspace.path !== null;
  const restoring: Restoring | null = hasWorktree ? { from: filesOf(context, stable), keepAs } : null;
  const undone: Undone = {
    runIds: taken.map((run) => run.id),
    toOrdinal,
    stableBefore: thread.latestStable,
    cut: cutConversations(context, thread, toOrdinal, taken),
    keptAs: restoring === null ? null : keepAs,
  };
  context.uow.tell({
    to: thread.id,
    event: { type: "thread.rolled_back", undone, stable: stable ?? importedPoint(context, thread), restoring },
  });
  return { threadId: thread.id, runIds: undone.runIds, to: keep?.id ?? null, workspace: restoring === null ? "untouched" : "restored" };
};

/** Takes the last undo back, until something new ran. */
export const redoThread: Plan<"thread.redo"> = (command, context) => {
  const thread = needIdle(context, command.threadId);
  const { undone } = thread;
  if (undone == null)
    refuse(
      "invalid_request",
      "nothing_to_redo",
      `${thread.id} has no undo that could be taken back`,
      "It can be until something new runs in the thread.",
    );
  for (const { providerThreadId, before } of undone.cut) {
    const native = context.overlay.providerThread(providerThreadId);
    if (native !== null) context.overlay.putProviderThread({ ...native, cutAfter: before });
  }
  const restoring: Restoring | null = undone.keptAs === null ? null : { from: undone.keptAs, keepAs: `undone-${context.uow.ids.uuid()}` };
  context.uow.tell({ to: thread.id, event: { type: "thread.rollback_undone", restoring } });
  return { threadId: thread.id, runIds: undone.runIds, workspace: restoring === null ? "untouched" : "restored" };
};

export const filesRestored: Plan<"thread.files_restored"> = (command, context) => {
  context.uow.report({ to: command.threadId, event: { type: "thread.files_restored", keepAs: command.keepAs } });
  return {};
};

/** An imported thread is stable before its first run. */
function importedPoint(context: PlanContext, thread: AppThread): AppThread["latestStable"] {
  const first = context.overlay.store.checkpointsOf(thread.id).find((c) => c.ordinal === 0);
  return first === undefined ? null : { runId: null, ordinal: 0, checkpointId: first.id };
}

function needIdle(context: PlanContext, threadId: AppThread["id"]): AppThread {
  const thread = needPresent(context, threadId);
  mayChange(context, thread);
  if (thread.status === "running")
    refuse("invalid_request", "thread_running", `${thread.id} has a run under way`, `Stop it first: ropewalk stop ${thread.id}`);
  if (thread.moving != null)
    refuse("invalid_request", "moving", `a move of ${thread.id} is under way`, `Cancel it first: ropewalk move ${thread.id} --cancel`);
  const open = openTasksOf(context.overlay, thread.id);
  if (open.length > 0)
    refuse("invalid_request", "open_tasks", `${open.length} of its subagents are still open`, "Cancel or dismiss them first.", {
      tasks: open.map((t) => t.id),
    });
  return thread;
}

/** Names the state that the worktree goes back to: that of the last completed run that stays, else what it began with. */
function filesOf(context: PlanContext, stable: AppThread["latestStable"]): string {
  const runId = stable?.runId ?? null;
  if (stable === null || runId === null) return "base";
  if (context.overlay.checkpoint(stable.checkpointId)?.workspace == null)
    refuse(
      "invalid_request",
      "files_not_kept",
      `what the worktree held after ${runId} was not kept`,
      "Go back to another run: ropewalk run list THREAD",
    );
  return runId.slice("run:".length);
}

function cutConversations(context: PlanContext, thread: AppThread, toOrdinal: number, taken: readonly Run[]): Undone["cut"] {
  return context.overlay.providerThreadsOf(thread.id).flatMap((native: ProviderThread) => {
    const knowsLater = [...native.coverage.native, ...native.coverage.told].some(([, to]) => to > toOrdinal);
    if (!knowsLater && !taken.some((run) => mayKnow(native, run))) return [];
    const before = native.cutAfter ?? null;
    context.overlay.putProviderThread({ ...native, cutAfter: before === null ? toOrdinal : Math.min(before, toOrdinal) });
    return [{ providerThreadId: native.id, before }];
  });
}

/** Nobody knows whether it took the run's input. */
function mayKnow(native: ProviderThread, { plan, acceptedAt, error }: Run): boolean {
  return (
    acceptedAt === null && error?.reason === "outcome_unknown" && plan?.open.kind === "resume" && plan.open.providerThreadId === native.id
  );
}
