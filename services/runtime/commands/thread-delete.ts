import type { AppThread } from "../../../schemas/thread.ts";
import { mayChange } from "../access.ts";
import { needThread, type Plan, type PlanContext } from "../plan.ts";
import { refuse } from "../refused.ts";
import { asThread, openTasksOf } from "../typed-actors.ts";

/** Deletes a thread. Forks that depend on it keep what they inherit, by a person's word (decision 39). */
export const deleteThread: Plan<"thread.delete"> = (command, context) => {
  const thread = needThread(context, command.threadId);
  mayChange(context, thread);
  if (thread.status === "running")
    refuse("invalid_request", "thread_running", `${thread.id} has a run under way`, `Stop it first: ropewalk stop ${thread.id}`);
  const open = openTasksOf(context.overlay, thread.id);
  if (open.length > 0)
    refuse("invalid_request", "open_tasks", `${open.length} of its subagents are still open`, "Cancel or dismiss them first.", {
      tasks: open.map((t) => t.id),
    });
  const forks = context.overlay
    .actorsBy({ kind: "thread", owner: thread.id })
    .map(asThread)
    .filter((t) => t.status !== "deleted" && t.lineage.relationshipToParent === "fork");
  if (forks.length > 0 && command.keepForks !== true)
    refuse(
      "invalid_request",
      "has_forks",
      `${forks.length} forks show its history`,
      "Delete them first, or say --keep-forks: then what they need of it stays readable to them.",
      {
        forks: forks.map((t) => t.id),
      },
    );
  const { discardWork = false } = command;
  if (!discardWork) holdWork(context, thread);
  context.uow.tell({ to: thread.id, event: { type: "thread.deleted", discardWork } });
  return { threadId: thread.id, keptFor: forks.map((t) => t.id) };

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
};
