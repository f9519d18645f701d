import type { MoveId, ThreadId } from "../../schemas/ids.ts";
import { limits } from "../../schemas/limits.ts";
import type { MovedCode } from "../../schemas/move.ts";
import { refusal } from "../../schemas/refusal.ts";
import type { AppThread } from "../../schemas/thread.ts";
import { folderOf } from "../runtime/folders.ts";
import type { PackedCode } from "../runtime/ports/moving-code.ts";
import { Refused } from "../runtime/refused.ts";
import { threadFrom } from "../runtime/typed-actors.ts";
import { baseFor } from "./base.ts";
import { git, gitMaybe, gitText, longMs } from "./git.ts";
import { dropRefs, setRef } from "./refs.ts";
import { isWorktree, type Setting } from "./setting.ts";
import { commitState, readFolder } from "./snapshot.ts";

/** Commits by which another copy of the repository can be found to be the same for a while: history, and what has a name. */
export async function candidatesOf(setting: Setting, threadId: ThreadId): Promise<string[]> {
  const thread = threadFrom(setting.store, threadId);
  const folder = thread === null ? "" : placeOf(setting, thread);
  if (!isWorktree(folder)) return [];
  const half = limits.moveCommits / 2;
  const [history, named] = await Promise.all([
    gitMaybe(folder, ["rev-list", `--max-count=${half}`, "HEAD"]),
    gitMaybe(folder, [
      "for-each-ref",
      `--count=${half}`,
      "--sort=-committerdate",
      "--format=%(objecttype) %(objectname)",
      "refs/remotes",
      "refs/heads",
    ]),
  ]);
  const tips = (named ?? "").split("\n").flatMap((line) => (line.startsWith("commit ") ? [line.slice("commit ".length)] : []));
  return [...new Set([...(history ?? "").split("\n"), ...tips])].filter((name) => name !== "").slice(0, limits.moveCommits);
}

/** Where the thread's files are; its project's folder, where it has none of its own yet. */
function placeOf({ store }: Setting, thread: AppThread): string {
  const folder = folderOf(store, thread);
  return folder !== "" ? folder : (store.project(thread.projectId)?.path ?? "");
}

/** What the thread's folder holds as a bundle that needs no more than the known commits. */
export async function packCode(setting: Setting, threadId: ThreadId, moveId: MoveId, known: readonly string[]): Promise<PackedCode> {
  const thread = threadFrom(setting.store, threadId);
  const folder = thread === null ? "" : placeOf(setting, thread);
  if (thread === null || !isWorktree(folder))
    return failed("workspace_missing", `the folder ${folder} is not there any more`, "Bring it back, or move the conversation alone.");
  try {
    return await setting.alone(folder, () => pack(setting, thread, folder, moveId, known));
  } catch (error) {
    if (error instanceof Refused) return { ok: false, refusal: error.refusal };
    return failed("code_not_packed", error instanceof Error ? error.message : String(error), "Put that right, then move it again.");
  }
}

async function pack(setting: Setting, thread: AppThread, folder: string, moveId: MoveId, known: readonly string[]): Promise<PackedCode> {
  const ref = setting.refs.named(thread.id, `moved-${moveId.slice("move:".length)}`);
  const { commit, head, leftOut, branch } = await stateOf(setting, thread, folder, moveId);
  // A bundle holds what has a name.
  await setRef(folder, ref, commit);
  setting.step("code.kept");
  const wanted = [ref, ...known.map((name) => `^${name}`)].join("\n");
  const bundle = await git(folder, ["bundle", "create", "--quiet", "-", "--stdin"], {
    input: Buffer.from(`${wanted}\n`),
    timeoutMs: longMs,
  });
  await dropRefs(folder, [ref]);
  if (bundle.length > limits.moveCodeBytes)
    return failed(
      "limit_exceeded",
      `the code has ${bundle.length} bytes beyond what the other side has, a move takes ${limits.moveCodeBytes}`,
      "Push what is committed, or have git ignore what is large; then move it again.",
    );
  const format = (await gitText(folder, ["rev-parse", "--show-object-format"])) as MovedCode["format"];
  setting.step("code.packed");
  return { ok: true, code: { bundle: bundle.toString("base64"), format, snapshot: commit, head, branch, leftOut } };
}

/** The folder as it stands; for a thread without one, what its first run would have begun with. */
async function stateOf(setting: Setting, thread: AppThread, folder: string, moveId: MoveId) {
  const project = setting.store.project(thread.projectId);
  if (thread.workspace.strategy === "worktree" && thread.workspace.path === null && project !== null) {
    const commit = await baseFor(setting, thread, project);
    return { commit, head: await gitMaybe(folder, ["rev-parse", "-q", "--verify", `${commit}^1`]), leftOut: [], branch: null };
  }
  const state = await readFolder(folder, setting.scratch);
  const { commit, head, leftOut } = await commitState(folder, state, `ropewalk: ${thread.id} moves (${moveId})`, setting.clock.now());
  return { commit, head, leftOut, branch: await gitMaybe(folder, ["symbolic-ref", "-q", "--short", "HEAD"]) };
}

const failed = (reason: string, message: string, hint: string): PackedCode => ({
  ok: false,
  refusal: refusal("invalid_request", reason, message, hint),
});
