import type { Checkpoint } from "../../schemas/checkpoint.ts";
import type { RunId, ThreadId } from "../../schemas/ids.ts";
import { folderOf } from "../runtime/folders.ts";
import type { Difference, KeptState, RepositoryFinding, UnsavedWork, Workspaces } from "../runtime/ports/workspaces.ts";
import { runFrom, threadFrom } from "../runtime/typed-actors.ts";
import { differenceBetween, emptyTree } from "./diff.ts";
import { differenceOf, previewOfUndo } from "./difference.ts";
import { inspectWorkspaces } from "./inspect.ts";
import { letGoCommits } from "./purge/objects.ts";
import { lookInRepository, purgeRepository, removeUnneeded, settledBefore } from "./purge/repository-text.ts";
import { dropRefs, setRef } from "./refs.ts";
import { unsavedWork } from "./remove.ts";
import { isWorktree, type Setting } from "./setting.ts";
import { commitState, readFolder } from "./snapshot.ts";

/** The port's real driver: the `git` program. */
export function gitWorkspaces(setting: Setting): Workspaces {
  return {
    keep(threadId, runId) {
      const folder = folderOfThread(setting, threadId);
      return isWorktree(folder) ? keep(setting, folder, threadId, runId) : null;
    },
    letGo: (threadId, runId) => letGo(setting, threadId, runId),
    async unsaved(threadId): Promise<UnsavedWork | null> {
      const thread = threadFrom(setting.store, threadId);
      return thread === null ? null : unsavedWork(setting, thread);
    },
    difference: (threadId, runId, maxChars) => differenceOf(setting, threadId, runId, maxChars),
    undoPreview: (threadId, to) => previewOfUndo(setting, threadId, to),
    inspect: () => inspectWorkspaces(setting),
    async lookFor(needle) {
      const found: RepositoryFinding[] = [];
      for (const path of repositoriesOf(setting)) found.push(...(await setting.alone(path, () => lookInRepository(setting, path, needle))));
      return found;
    },
    async purgeText(needle, repoint) {
      for (const path of repositoriesOf(setting)) await setting.alone(path, () => purgeRepository(setting, path, needle, repoint));
    },
    purgeThread: (threadId, after) => purgeThread(setting, threadId, after),
    uncommittedAt: (checkpoint, maxChars) => uncommittedAt(setting, checkpoint, maxChars),
  };
}

function repositoriesOf({ store }: Setting): string[] {
  return [...new Set(store.projects().map((project) => project.path))].filter(isWorktree);
}

/** Refs of runs behind `after`; with them all, also what its worktree began with. Then what only they led to. */
async function purgeThread(setting: Setting, threadId: ThreadId, after: number): Promise<void> {
  const thread = threadFrom(setting.store, threadId);
  const repository = thread === null ? null : (setting.store.project(thread.projectId)?.path ?? null);
  if (thread === null || repository === null || !isWorktree(repository)) return;
  await setting.alone(repository, async () => {
    const gone = (await setting.refs.list(repository, threadId)).filter(
      ({ of }) => after < 0 || (runFrom(setting.store, `run:${of}` as RunId)?.ordinal ?? -1) > after,
    );
    await dropRefs(
      repository,
      gone.map((r) => r.ref),
    );
    setting.step("refs.dropped");
    // Those of an earlier try, which was cut off here, are among what nothing leads to.
    const { ours } = await letGoCommits(repository, settledBefore(setting));
    await removeUnneeded(setting, repository, [...gone.map((r) => r.commit), ...ours]);
  });
}

async function uncommittedAt(setting: Setting, checkpoint: Checkpoint, maxChars: number): Promise<Difference | null> {
  const thread = threadFrom(setting.store, checkpoint.threadId);
  const repository = thread === null ? null : (setting.store.project(thread.projectId)?.path ?? null);
  if (checkpoint.workspace == null || repository === null || !isWorktree(repository)) return null;
  const { head, commit } = checkpoint.workspace;
  try {
    return await differenceBetween(repository, head ?? (await emptyTree(repository)), commit, maxChars);
  } catch {
    // Its ref is gone: then nothing is known of its files.
    return null;
  }
}

function folderOfThread({ store }: Setting, threadId: ThreadId): string {
  const thread = threadFrom(store, threadId);
  return thread === null ? "" : folderOf(store, thread);
}

async function keep(setting: Setting, folder: string, threadId: ThreadId, runId: RunId): Promise<KeptState> {
  try {
    const state = await readFolder(folder, setting.scratch);
    setting.step("snapshot.written");
    const { commit, head, leftOut } = await commitState(folder, state, `ropewalk: after ${runId} of ${threadId}`, setting.clock.now());
    const ref = setting.refs.ofRun(threadId, runId);
    await setRef(folder, ref, commit);
    setting.step("snapshot.kept");
    return { snapshot: { ref, commit, head, leftOut }, note: null };
  } catch (error) {
    return { snapshot: null, note: error instanceof Error ? error.message : String(error) };
  }
}

async function letGo(setting: Setting, threadId: ThreadId, runId: RunId): Promise<void> {
  const folder = folderOfThread(setting, threadId);
  // What cannot be dropped now is found by the next start.
  if (isWorktree(folder)) await dropRefs(folder, [setting.refs.ofRun(threadId, runId)]).catch(() => undefined);
}
