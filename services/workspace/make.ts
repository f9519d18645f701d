import { existsSync } from "node:fs";
import { type Refusal, refusal } from "../../schemas/refusal.ts";
import type { AppThread, Workspace } from "../../schemas/thread.ts";
import { Refused } from "../runtime/refused.ts";
import { baseFor } from "./base.ts";
import { carryIgnored } from "./carry.ts";
import { isWorktree, type Setting, worktreePath } from "./setting.ts";
import { runSetup } from "./setup.ts";
import { makeWorktree } from "./worktree.ts";

export type Made = { ok: true; workspace: Workspace } | { ok: false; refusal: Refusal };

/**
 * Makes the folder that a thread is to work in. May be repeated after whatever stopped it: what was done stays, what was
 * half done is done anew, and the setup command runs again unless the thread knows its folder already.
 */
export async function makeWorkspace(setting: Setting, thread: AppThread, signal: AbortSignal): Promise<Made> {
  const project = setting.store.project(thread.projectId);
  if (project === null || !existsSync(project.path))
    return failed("workspace_missing", `the folder ${project?.path ?? ""} is not there any more`, "Bring it back, then send again.");
  if (!isWorktree(project.path)) return { ok: true, workspace: { strategy: "root" } };
  const path = worktreePath(setting, thread.id);
  const { setup = null, carry = [] } = project.worktrees ?? {};
  try {
    await setting.alone(project.path, async () => {
      await makeWorktree(project.path, path, await baseFor(setting, thread, project), setting.step);
      await carryIgnored(project.path, path, carry);
    });
  } catch (error) {
    if (error instanceof Refused) return { ok: false, refusal: error.refusal };
    return failed(
      "worktree_failed",
      `its worktree could not be made: ${error instanceof Error ? error.message : String(error)}`,
      "Put that right, then send again; see also ropewalk doctor.",
    );
  }
  if (setup !== null) {
    setting.step("setup.begins");
    const end = await runSetup(setup, path, project.path, signal);
    if (!end.ok)
      return failed(
        "setup_failed",
        `the setup command failed: ${end.why}`,
        `Put it right in ${path} or by ropewalk project set, then send again.`,
        { output: end.output },
      );
    setting.step("setup.done");
  }
  return { ok: true, workspace: { strategy: "worktree", path } };
}

const failed = (reason: string, message: string, hint: string, details?: Record<string, unknown>): Made => ({
  ok: false,
  refusal: refusal("orchestration_error", reason, message, hint, details),
});
