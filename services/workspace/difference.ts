import type { ChangedFile } from "../../schemas/checkpoint.ts";
import type { RunId, ThreadId } from "../../schemas/ids.ts";
import type { AppThread, StablePoint } from "../../schemas/thread.ts";
import { folderOf } from "../runtime/folders.ts";
import type { Difference, UndoPreview } from "../runtime/ports/workspaces.ts";
import { refuse } from "../runtime/refused.ts";
import { runFrom, threadFrom } from "../runtime/typed-actors.ts";
import { undoPoint } from "../runtime/undo-point.ts";
import { changedFiles, differenceBetween, emptyTree } from "./diff.ts";
import { GitFailure } from "./git.ts";
import { isWorktree, type Setting } from "./setting.ts";
import { lookAtFolder } from "./snapshot.ts";

/** See the port. Throws Refused. */
export async function differenceOf(setting: Setting, threadId: ThreadId, runId: RunId | null, maxChars: number): Promise<Difference> {
  const thread = needThread(setting, threadId);
  const folder = needFolder(setting, thread);
  try {
    if (runId === null) return await sinceItBegan(setting, thread, folder, maxChars);
    const [from, to] = await ofRun(setting, thread, folder, runId);
    return await differenceBetween(folder, from, to, maxChars);
  } catch (error) {
    if (!(error instanceof GitFailure)) throw error;
    refuse("orchestration_error", "git_failed", error.message, "See what git says in the thread's folder; see also ropewalk doctor.");
  }
}

/** See the port. Throws Refused. */
export async function previewOfUndo(setting: Setting, threadId: ThreadId, to: RunId | null | undefined): Promise<UndoPreview> {
  const thread = needThread(setting, threadId);
  const { keep, taken, stable } = undoPoint(setting.store, thread, to);
  return { runs: taken, to: keep?.id ?? null, files: await changesOfUndo(setting, thread, stable) };
}

async function changesOfUndo(setting: Setting, thread: AppThread, stable: StablePoint | null): Promise<ChangedFile[] | null> {
  const path = thread.workspace.strategy === "worktree" ? thread.workspace.path : null;
  if (path === null || !isWorktree(path)) return null;
  const target = setting.refs.named(thread.id, stable?.runId == null ? "base" : stable.runId.slice("run:".length));
  try {
    return await lookAtFolder(path, setting.scratch, ({ tree }, call) => changedFiles(path, tree, target, call));
  } catch (error) {
    if (!(error instanceof GitFailure)) throw error;
    refuse("orchestration_error", "git_failed", error.message, "See what git says in the thread's folder; see also ropewalk doctor.");
  }
}

async function sinceItBegan(setting: Setting, thread: AppThread, folder: string, maxChars: number): Promise<Difference> {
  if (folderOf(setting.store, thread) !== folder)
    refuse(
      "invalid_request",
      "workspace_missing",
      `${thread.id} has no folder now`,
      "Its first run makes it. If somebody deleted it: go on in a fork.",
    );
  return lookAtFolder(folder, setting.scratch, async ({ tree, head }, call) => {
    const began = thread.workspace.strategy === "worktree" ? setting.refs.baseOf(thread.id) : (head ?? (await emptyTree(folder)));
    return differenceBetween(folder, began, tree, maxChars, call);
  });
}

async function ofRun(setting: Setting, thread: AppThread, folder: string, runId: RunId): Promise<[string, string]> {
  const run = runFrom(setting.store, runId);
  if (run === null || run.threadId !== thread.id)
    refuse("run_not_found", "unknown_run", `${runId} is no run of ${thread.id}`, "List its runs with: ropewalk run list THREAD");
  const kept = setting.store.checkpointsOf(thread.id).filter((c) => c.workspace != null && c.ordinal <= run.ordinal);
  const own = kept.at(-1);
  if (own?.workspace == null || own.runId !== runId)
    refuse(
      "invalid_request",
      "files_not_kept",
      `what the folder held after ${runId} was not kept`,
      "Only completed runs in a repository have it.",
    );
  const before = kept.at(-2)?.workspace?.commit;
  const began =
    thread.workspace.strategy === "worktree" ? setting.refs.baseOf(thread.id) : (own.workspace.head ?? (await emptyTree(folder)));
  return [before ?? began, own.workspace.commit];
}

function needThread({ store }: Setting, threadId: ThreadId): AppThread {
  const thread = threadFrom(store, threadId);
  if (thread === null || thread.status === "deleted")
    refuse("thread_not_found", "unknown_thread", `there is no thread ${threadId}`, "List threads with: ropewalk ls");
  return thread;
}

/** The thread's folder, or, where that is not there, its project's: every worktree of a repository knows all its objects. */
function needFolder({ store }: Setting, thread: AppThread): string {
  const folder = [folderOf(store, thread), store.project(thread.projectId)?.path ?? ""].find(isWorktree);
  if (folder === undefined)
    refuse(
      "invalid_request",
      "no_repository",
      `${thread.id} works in no repository`,
      "Its files are not kept, so there is nothing to compare.",
    );
  return folder;
}
