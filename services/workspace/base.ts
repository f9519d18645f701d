import type { Project } from "../../schemas/project.ts";
import { refusal } from "../../schemas/refusal.ts";
import type { AppThread } from "../../schemas/thread.ts";
import { folderOf } from "../runtime/folders.ts";
import { Refused } from "../runtime/refused.ts";
import { runFrom, threadFrom } from "../runtime/typed-actors.ts";
import { gitMaybe } from "./git.ts";
import { setRef } from "./refs.ts";
import { isWorktree, type Setting } from "./setting.ts";
import { commitState, readFolder } from "./snapshot.ts";

/**
 * The commit that a thread's worktree is made from, decided once and kept under a ref: the checkpoint that it was forked
 * at, else what the folder of the thread that it comes from holds now, else what the project's folder holds. Throws Refused
 * when the checkpoint's snapshot is not in the repository any more.
 */
export async function baseFor(setting: Setting, thread: AppThread, project: Project): Promise<string> {
  const ref = setting.refs.baseOf(thread.id);
  const before = await gitMaybe(project.path, ["rev-parse", "-q", "--verify", `${ref}^{commit}`]);
  if (before !== null) return before;
  const commit = (await checkpointOf(setting, thread, project)) ?? (await stateOfFolder(setting, thread, project));
  await setRef(project.path, ref, commit);
  setting.step("base.kept");
  return commit;
}

async function checkpointOf({ store }: Setting, thread: AppThread, project: Project): Promise<string | null> {
  const runId = thread.inherited?.runId ?? null;
  const checkpointId = runId === null ? null : (runFrom(store, runId)?.checkpointId ?? null);
  const snapshot = checkpointId === null ? null : (store.checkpoint(checkpointId)?.workspace ?? null);
  if (snapshot === null) return null;
  if ((await gitMaybe(project.path, ["cat-file", "-e", `${snapshot.commit}^{commit}`])) !== null) return snapshot.commit;
  throw new Refused(
    refusal(
      "orchestration_error",
      "snapshot_gone",
      `the files of checkpoint ${checkpointId} are not in the repository any more`,
      "Somebody removed the refs below refs/ropewalk. Fork at another run.",
    ),
  );
}

async function stateOfFolder(setting: Setting, thread: AppThread, project: Project): Promise<string> {
  const { parentThreadId, parentEnvironmentId } = thread.lineage;
  const parent = parentThreadId === null || parentEnvironmentId !== null ? null : threadFrom(setting.store, parentThreadId);
  const folder = [parent === null ? "" : folderOf(setting.store, parent), project.path].find(isWorktree) ?? project.path;
  const state = await readFolder(folder, setting.scratch);
  return (await commitState(folder, state, `ropewalk: where ${thread.id} began`, setting.clock.now())).commit;
}
