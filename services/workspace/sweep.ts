import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { RunId } from "../../schemas/ids.ts";
import { isEndedRun } from "../../schemas/run.ts";
import { threadOf } from "../runtime/folders.ts";
import { runFrom, threadFrom } from "../runtime/typed-actors.ts";
import { backupName } from "./bundle.ts";
import { dropRefs, type PrivateRef } from "./refs.ts";
import { isNeeded } from "./remove.ts";
import { isWorktree, type Setting, worktreePath } from "./setting.ts";
import { trashPrefix } from "./worktree.ts";

/** Clears away what a killed process left in the environment's own folder. Before anything new begins. */
export function sweepFolder({ root, scratch }: Setting): void {
  rmSync(scratch, { recursive: true, force: true });
  if (!existsSync(root)) return;
  for (const name of readdirSync(root)) if (name.startsWith(trashPrefix)) rmSync(join(root, name), { recursive: true, force: true });
}

/**
 * Drops private refs that nothing stands for: of a run that ended without a checkpoint because the process did, and of
 * deleted threads that no fork shows. A repository that cannot be read is left to the next start.
 */
export async function sweepRefs(setting: Setting, signal: AbortSignal): Promise<void> {
  for (const { path } of setting.store.projects()) {
    if (signal.aborted) return;
    if (!isWorktree(path)) continue;
    await setting
      .alone(path, async () => {
        const stale = (await setting.refs.list(path)).filter((ref) => isStale(setting, ref));
        await dropRefs(
          path,
          stale.map((r) => r.ref),
        );
      })
      .catch(() => undefined);
  }
}

function isStale(setting: Setting, { ref, thread: name, of }: PrivateRef): boolean {
  const thread = threadFrom(setting.store, threadOf(name));
  // Of a thread that this store does not know (it may have been restored): nobody else can say what it is worth.
  if (thread === null) return false;
  if (!isNeeded(setting.store, thread)) return !existsSync(worktreePath(setting, thread.id));
  if (of === "base") return false;
  if (of === backupName) return thread.restoring?.from !== of;
  if (of.startsWith("undone-")) return ![thread.undone?.keptAs, thread.restoring?.keepAs, thread.restoring?.from].includes(of);
  const run = runFrom(setting.store, `run:${of}` as RunId);
  // Of a run that this store does not know: it was restored, and the run came after its backup.
  if (run === null || !isEndedRun(run.status)) return false;
  const checkpoint = run.checkpointId === null ? null : setting.store.checkpoint(run.checkpointId);
  return checkpoint?.workspaceRef !== ref;
}
