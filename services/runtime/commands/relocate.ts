import { join, relative } from "node:path";
import type { ThreadId } from "../../../schemas/ids.ts";
import { folderName } from "../folders.ts";
import type { Plan } from "../plan.ts";
import { asThread } from "../typed-actors.ts";

/**
 * What is in the environment's own folder is in another one now, since it was restored there: its scratch project, and the
 * worktrees of threads. Those that the backup had are made again from what it kept of them.
 */
export const relocateEnvironment: Plan<"environment.relocated"> = (command, context) => {
  const { from, to } = command;
  const moved = (path: string): string | null => {
    const below = relative(from, path);
    return below.startsWith("..") || below.startsWith("/") ? null : join(to, below);
  };
  for (const project of context.overlay.projects()) {
    const path = moved(project.path);
    if (path !== null && path !== project.path) context.overlay.putProject({ ...project, path });
  }
  const kept = new Set<ThreadId>(command.worktrees);
  for (const row of context.overlay.store.actorsBy({ kind: "thread", statuses: ["idle", "running", "departing", "departed"] })) {
    const thread = asThread(row);
    const before = thread.workspace.strategy === "worktree" ? thread.workspace.path : null;
    if (before === null || moved(before) === null) continue;
    context.uow.tell({
      to: thread.id,
      event: {
        type: "thread.relocated",
        workspace: { strategy: "worktree", path: join(to, "worktrees", folderName(thread.id)) },
        restoring: kept.has(thread.id) ? { from: "backup", keepAs: `undone-${context.uow.ids.uuid()}` } : null,
      },
    });
  }
  return {};
};
