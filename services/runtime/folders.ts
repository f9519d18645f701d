import type { ThreadId } from "../../schemas/ids.ts";
import type { AppThread } from "../../schemas/thread.ts";
import type { Store } from "./ports/store.ts";

/** Where a thread's agent works. Empty while that is still to be made, and when its project is not known any more. */
export function folderOf(store: Pick<Store, "project">, thread: Pick<AppThread, "projectId" | "workspace">): string {
  const { workspace } = thread;
  return workspace.strategy === "root" ? (store.project(thread.projectId)?.path ?? "") : (workspace.path ?? "");
}

/** What a thread's own worktree, and its refs in a repository, are named by. */
export const folderName = (threadId: ThreadId): string => threadId.slice("thread:".length).replace(/^import:/, "import-");
export const threadOf = (name: string): ThreadId => `thread:${name.replace(/^import-/, "import:")}` as ThreadId;
