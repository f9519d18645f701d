import type { TaskId, ThreadId } from "../../../schemas/ids.ts";
import type { ResultOf } from "../../../schemas/results.ts";
import type { AppThread } from "../../../schemas/thread.ts";
import { mayChange } from "../access.ts";
import { forksThatNeed } from "../dependents.ts";
import { type CommandOf, needThread, type Plan, type PlanContext } from "../plan.ts";
import { refuse } from "../refused.ts";
import { openMoveOf, openTasksOf, threadFrom } from "../typed-actors.ts";
import { cancelTasksOf } from "./thread-interrupt.ts";

/**
 * Deletes a thread. Forks that depend on it keep what they inherit, by a person's word (decision 39); what runs in it and
 * below it is stopped in the same commit, by another (decision 0110).
 */
export const deleteThread: Plan<"thread.delete"> = (command, context) => {
  const thread = needThread(context, command.threadId);
  mayChange(context, thread);
  return takeOut(context, thread, command);
};

type Word = Pick<CommandOf<"thread.delete">, "keepForks" | "discardWork" | "stop">;
type TakenOut = ResultOf["thread.delete"];

/** Deletes it by what somebody said; refuses what they did not say. */
export function takeOut(context: PlanContext, thread: AppThread, command: Word): TakenOut {
  const { discardWork = false, stop = false } = command;
  if (thread.status === "departing" || openMoveOf(context.overlay, thread.id) !== null)
    refuse("invalid_request", "moving", `a move of ${thread.id} is under way`, `Cancel it first: ropewalk move ${thread.id} --cancel`);
  if (!stop) holdRunning(context, thread);
  const forks = holdForks(context, thread, command);
  if (!discardWork) holdWork(context, thread);
  const cancelledTasks: TaskId[] = cancelTasksOf(context, thread.id, "its parent was deleted", null);
  const runIds = [...thread.queue, ...(thread.activeRunId === null ? [] : [thread.activeRunId])];
  context.uow.tell({ to: thread.id, event: { type: "thread.deleted", discardWork, ...(stop && { stop }) } });
  for (const to of waitingForIt(context, thread)) context.uow.tell({ to, event: { type: "thread.purge_asked" } });
  return { threadId: thread.id, keptFor: forks.map((t) => t.id), runIds, cancelledTasks };
}

/** Those that it descends from whose content is to go when nobody shows it any more. */
function waitingForIt(context: PlanContext, thread: AppThread): ThreadId[] {
  const found: ThreadId[] = [];
  for (let at: AppThread | null = parentOf(context, thread); at !== null; at = parentOf(context, at))
    if (at.status === "deleted" && at.purge?.doneAt === null) found.push(at.id);
  return found;
}

function parentOf({ overlay }: PlanContext, { lineage }: AppThread): AppThread | null {
  const { parentThreadId, parentEnvironmentId, relationshipToParent } = lineage;
  return parentThreadId === null || parentEnvironmentId !== null || relationshipToParent !== "fork"
    ? null
    : threadFrom(overlay, parentThreadId);
}

function holdRunning(context: PlanContext, thread: AppThread): void {
  if (thread.status === "running")
    refuse(
      "invalid_request",
      "thread_running",
      `${thread.id} has a run under way`,
      `Stop it first: ropewalk stop ${thread.id}, or say --stop.`,
    );
  const open = openTasksOf(context.overlay, thread.id);
  if (open.length === 0) return;
  const hint = "Cancel or dismiss them first, or say --stop: then they are cancelled, depth first.";
  refuse("invalid_request", "open_tasks", `${open.length} of its subagents are still open`, hint, { tasks: open.map((t) => t.id) });
}

export function holdForks(context: PlanContext, thread: AppThread, { keepForks = false }: Word): AppThread[] {
  const forks = forksThatNeed(context.overlay, thread.id);
  if (forks.length > 0 && !keepForks)
    refuse(
      "invalid_request",
      "has_forks",
      forks.length === 1 ? "1 fork shows its history" : `${forks.length} forks show its history`,
      "Delete them first, or say --keep-forks: then what they need of it stays readable to them.",
      { forks: forks.map((t) => t.id) },
    );
  return forks;
}

/** A worktree never goes with work that is nowhere else, unless somebody says so (decision 38). */
function holdWork(context: PlanContext, thread: AppThread): void {
  const path = thread.workspace.strategy === "worktree" ? thread.workspace.path : null;
  const unsaved = path === null ? null : context.facts.get(path)?.unsaved;
  if (path === null || unsaved == null) return;
  const { count, commits, unknown, files } = unsaved;
  const what = [...(count > 0 ? [`${count} changed files`] : []), ...(commits > 0 ? [`${commits} commits that no branch has`] : [])];
  refuse(
    "invalid_request",
    "uncommitted_work",
    unknown === undefined ? `${path} holds ${what.join(" and ")}` : `whether ${path} holds work cannot be said: ${unknown}`,
    "Commit it to a branch there, or say --discard-work: then it is gone.",
    { path, files, count, commits },
  );
}
