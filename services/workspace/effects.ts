import type { Command, Receipt } from "../../schemas/command.ts";
import type { EffectId, RunId } from "../../schemas/ids.ts";
import { refusal } from "../../schemas/refusal.ts";
import type { AppThread } from "../../schemas/thread.ts";
import type { EffectHandler } from "../runtime/effect-runner.ts";
import { runFrom, threadFrom } from "../runtime/typed-actors.ts";
import { type Made, makeWorkspace } from "./make.ts";
import { removeWorkspace } from "./remove.ts";
import { restoreFiles } from "./restore.ts";
import { type Setting, worktreePath } from "./setting.ts";

/** The folder of a run that is about to start: made, and with the files that an undo wants in it. */
async function makeAndRestore(
  setting: Setting,
  thread: AppThread,
  signal: AbortSignal,
): Promise<Extract<Made, { ok: false }> | (Extract<Made, { ok: true }> & { restored: string | null })> {
  const isThere = thread.workspace.strategy !== "worktree" || thread.workspace.path !== null;
  const made: Made = isThere ? { ok: true, workspace: thread.workspace } : await makeWorkspace(setting, thread, signal);
  if (!made.ok) return made;
  try {
    return { ...made, restored: await restoreFiles(setting, threadFrom(setting.store, thread.id) ?? thread) };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return {
      ok: false,
      refusal: refusal(
        "orchestration_error",
        "restore_failed",
        `its worktree could not be taken back: ${why}`,
        "Put that right, then send again.",
      ),
    };
  }
}

type Report = (command: Command, closes?: readonly EffectId[]) => Promise<Receipt>;

/** Carries out `workspace.make` and `workspace.remove`. Both may be repeated after a crash, wherever it was. */
export function workspaceEffects(setting: Setting, report: Report) {
  const making = new Map<RunId, AbortController>();
  let isStopping = false;
  const close = (effectId: EffectId, note: string) => report({ type: "effects.closed", effectIds: [effectId], state: "done", note });

  const make: EffectHandler<"workspace.make"> = {
    async run({ runId, attemptId }, effectId) {
      const run = runFrom(setting.store, runId);
      const thread = run === null ? null : threadFrom(setting.store, run.threadId);
      if (run?.status !== "placing" || run.attempt?.id !== attemptId || thread === null) {
        await close(effectId, "the run went on without it");
        return;
      }
      const abort = new AbortController();
      making.set(runId, abort);
      const path = worktreePath(setting, thread.id);
      const made = await setting.alone(path, () => makeAndRestore(setting, thread, abort.signal)).finally(() => making.delete(runId));
      // Stopped with the environment: its next start makes it.
      if (isStopping) return;
      // Its thread was deleted while this was made, perhaps after what it had was removed.
      const now = threadFrom(setting.store, thread.id);
      if (now?.status === "deleted") await removeWorkspace(setting, now, false);
      const receipt = made.ok
        ? await report({ type: "run.placed", runId, attemptId, workspace: made.workspace, restored: made.restored }, [effectId])
        : await report({ type: "run.unprepared", runId, attemptId, error: made.refusal, failed: [] }, [effectId]);
      if (!receipt.ok) throw new Error(receipt.refusal.message);
    },
  };
  const remove: EffectHandler<"workspace.remove"> = {
    /** Without a worktree and a repository there is nothing that could be left. */
    now({ threadId }, decided) {
      const thread = threadFrom(decided, threadId);
      const hasNothing = thread?.workspace.strategy === "root" && decided.project(thread.projectId)?.repository === null;
      return hasNothing ? [] : null;
    },
    async run({ threadId, discardWork }, effectId) {
      const thread = threadFrom(setting.store, threadId);
      const note = thread?.status === "deleted" ? await removeWorkspace(setting, thread, discardWork) : "";
      await close(effectId, note);
    },
  };
  const restore: EffectHandler<"workspace.restore"> = {
    async run({ threadId }, effectId) {
      const keptAs = await setting.alone(worktreePath(setting, threadId), async () => {
        const thread = threadFrom(setting.store, threadId);
        return thread === null || thread.status === "deleted" ? null : restoreFiles(setting, thread);
      });
      if (keptAs === null) await close(effectId, "there was nothing to restore");
      else await report({ type: "thread.files_restored", threadId, keepAs: keptAs }, [effectId]);
    },
  };
  return {
    make,
    remove,
    restore,
    /** The run was taken back while its folder was made. */
    ended: (runId: RunId) => making.get(runId)?.abort(),
    stop() {
      isStopping = true;
      for (const abort of making.values()) abort.abort();
    },
  };
}
