import { existsSync } from "node:fs";
import type { ThreadId } from "../../schemas/ids.ts";
import type { AppThread } from "../../schemas/thread.ts";
import type { Store } from "../runtime/ports/store.ts";
import type { UnsavedWork } from "../runtime/ports/workspaces.ts";
import { asThread, threadFrom } from "../runtime/typed-actors.ts";
import { gitMaybe } from "./git.ts";
import { dropRefs } from "./refs.ts";
import { isWorktree, type Setting, worktreePath } from "./setting.ts";
import { lookAtFolder } from "./snapshot.ts";
import { unsavedIn } from "./unsaved.ts";
import { removeWorktree } from "./worktree.ts";

/** What a thread's own worktree holds that is nowhere else; null when it has none, or nothing would be lost with it. */
export async function unsavedWork(setting: Setting, thread: AppThread): Promise<UnsavedWork | null> {
  if (thread.workspace.strategy !== "worktree" || thread.workspace.path === null) return null;
  const path = thread.workspace.path;
  if (!existsSync(path)) return null;
  try {
    const base = await gitMaybe(path, ["rev-parse", "-q", "--verify", `${setting.refs.baseOf(thread.id)}^{commit}`]);
    return await lookAtFolder(path, setting.scratch, (now, call) => unsavedIn(path, now, base, call));
  } catch (error) {
    return { files: [], count: 0, commits: 0, unknown: error instanceof Error ? error.message : String(error) };
  }
}

/**
 * Removes what a deleted thread has: its worktree, and its private refs unless a fork still needs them. A worktree in which
 * somebody has worked since the thread was deleted stays where it is; the answer says so.
 */
export async function removeWorkspace(setting: Setting, thread: AppThread, discardWork: boolean): Promise<string> {
  const project = setting.store.project(thread.projectId);
  const repository = project !== null && isWorktree(project.path) ? project.path : null;
  return setting.alone(repository ?? setting.root, async () => {
    if (thread.workspace.strategy === "worktree") {
      const unsaved = discardWork ? null : await unsavedWork(setting, thread);
      if (unsaved !== null) return `${worktreePath(setting, thread.id)} was left: it holds work that is nowhere else`;
      await removeWorktree(repository, worktreePath(setting, thread.id), setting.step);
    }
    if (repository === null) return "";
    for (const unneeded of unneededFrom(setting.store, thread)) {
      await dropRefs(
        repository,
        (await setting.refs.list(repository, unneeded)).map((r) => r.ref),
      );
      setting.step("refs.dropped");
    }
    return "";
  });
}

/** The thread, and the deleted ones that it descends from, as far as nobody shows their history any more. */
function unneededFrom(store: Store, thread: AppThread): ThreadId[] {
  const found: ThreadId[] = [];
  for (let at: AppThread | null = thread; at !== null && !isNeeded(store, at); ) {
    found.push(at.id);
    const lineage: AppThread["lineage"] = at.lineage;
    at = lineage.parentThreadId === null || lineage.parentEnvironmentId !== null ? null : threadFrom(store, lineage.parentThreadId);
  }
  return found;
}

/** True for a thread that is there, and for one that was deleted while a fork of it, or of its forks, is there. */
export function isNeeded(store: Store, thread: AppThread): boolean {
  if (thread.status !== "deleted") return true;
  return store
    .actorsBy({ kind: "thread", owner: thread.id })
    .map(asThread)
    .some((fork) => fork.lineage.relationshipToParent === "fork" && isNeeded(store, fork));
}
