import { resolve } from "node:path";
import type { Command } from "commander";
import type { WorkspaceWish } from "../../schemas/thread.ts";

export type WorkspaceOption = { workspace?: string };

/** `--workspace worktree|root|PATH`, for what is to work somewhere else than it would by itself. */
export function withWorkspaceOption(command: Command): Command {
  return command.option(
    "--workspace <worktree|root|path>",
    "where it works: a worktree of its own (which it has anyway), the project's own folder, or a worktree that is there",
  );
}

/** A folder that is called `root` or `worktree` is named as `./root`. */
export function workspaceOf({ workspace }: WorkspaceOption): { workspace?: WorkspaceWish } {
  if (workspace === undefined) return {};
  if (workspace === "root" || workspace === "worktree") return { workspace: { strategy: workspace } };
  return { workspace: { strategy: "existing", path: resolve(workspace) } };
}
