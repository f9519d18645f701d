import { existsSync } from "node:fs";
import { join } from "node:path";
import type { AppThread } from "../../schemas/thread.ts";
import { entries, git, gitMaybe, gitText, longMs } from "./git.ts";
import { unlocking } from "./locks.ts";
import { setRef } from "./refs.ts";
import { isWorktree, type Setting } from "./setting.ts";
import { commitState, type FolderState, withFolderIndex } from "./snapshot.ts";
import { makeWorktree } from "./worktree.ts";

/**
 * Gives a thread's own worktree back what it held, as the thread's record says, having kept what it holds now. May be
 * repeated. Answers what was kept under which name; null when there is nothing to do. Throws GitFailure.
 */
export async function restoreFiles(setting: Setting, thread: AppThread): Promise<string | null> {
  const path = thread.workspace.strategy === "worktree" ? thread.workspace.path : null;
  const project = setting.store.project(thread.projectId);
  if (thread.restoring == null || path === null || project === null) return null;
  const { from, keepAs } = thread.restoring;
  await setting.alone(project.path, async () => {
    const commit = await gitText(project.path, ["rev-parse", "-q", "--verify", `${setting.refs.named(thread.id, from)}^{commit}`]);
    // One that somebody deleted is made again.
    if (isWorktree(path)) await restoreFolder(setting, thread, path, commit, setting.refs.named(thread.id, keepAs));
    else if (!existsSync(path)) await makeWorktree(project.path, path, commit, setting.step);
  });
  return keepAs;
}

async function restoreFolder(setting: Setting, thread: AppThread, path: string, commit: string, keepRef: string): Promise<void> {
  const isKept = (await gitMaybe(path, ["rev-parse", "-q", "--verify", keepRef])) !== null;
  // Once what it held is kept, there is nothing more of it to keep.
  await withFolderIndex(path, setting.scratch, isKept ? "passing" : "kept", async (call, state) => {
    if (!isKept) {
      const about = `ropewalk: before an undo of ${thread.id}`;
      await setRef(path, keepRef, (await commitState(path, state, about, setting.clock.now())).commit);
      setting.step("undo.kept");
    }
    await leaveAlone(path, call, state);
    await git(path, ["read-tree", "--reset", "-u", commit], { ...call, timeoutMs: longMs });
    setting.step("undo.filled");
  });
  const gitDir = await gitText(path, ["rev-parse", "--absolute-git-dir"]);
  const head = (await gitMaybe(path, ["rev-parse", "-q", "--verify", `${commit}^1`])) ?? commit;
  const locks = ["HEAD.lock", "index.lock"].map((name) => join(gitDir, name));
  // No branch moves: what is checked out is that commit, on none.
  await unlocking(locks, () => git(path, ["update-ref", "--no-deref", "HEAD", head]));
  await unlocking(locks, () => git(path, ["reset", "-q", "--mixed"], { timeoutMs: longMs }));
  setting.step("undo.done");
}

/** Tracked files that were not read, because of their size, are not written either. */
async function leaveAlone(path: string, call: Parameters<typeof git>[2], { leftOut }: FolderState): Promise<void> {
  if (leftOut.length === 0) return;
  const named = leftOut.map((file) => `:(literal)${file.path}`);
  const tracked = entries(await git(path, ["ls-files", "-z", "--", ...named], call));
  if (tracked.length === 0) return;
  const input = Buffer.concat(tracked.flatMap((name) => [name, Buffer.of(0)]));
  await git(path, ["update-index", "-z", "--assume-unchanged", "--stdin"], { ...call, input });
}
