import { existsSync } from "node:fs";
import type { BackedUpRepository, KeptRef } from "../../schemas/backup.ts";
import type { ThreadId } from "../../schemas/ids.ts";
import { GitFailure, git, gitMaybe, gitText, longMs } from "./git.ts";
import { dropRefs, setRef } from "./refs.ts";
import { isWorktree, type Setting } from "./setting.ts";
import { commitState, readFolder } from "./snapshot.ts";

/** Names, among a thread's private refs, what its worktree held when a backup was made. */
export const backupName = "backup";

export type Bundling = Pick<Setting, "refs" | "scratch" | "clock" | "alone">;
export type OwnWorktree = { threadId: ThreadId; path: string };

/** The repository that a folder is a worktree of, by which two projects in one are told to be one; null: in none. */
export const repositoryOf = (folder: string): Promise<string | null> =>
  isWorktree(folder) ? gitMaybe(folder, ["rev-parse", "--path-format=absolute", "--git-common-dir"]) : Promise.resolve(null);

/**
 * Writes an environment's private refs in a repository into a git bundle, and what the worktrees of threads hold now beside
 * them. What the user's own branches, tags and remotes have is not in it, but needed when it is read. Throws GitFailure.
 */
export function bundleRefs(
  setting: Bundling,
  repository: string,
  worktrees: readonly OwnWorktree[],
  to: string,
): Promise<Pick<BackedUpRepository, "refs" | "worktrees"> & { isWritten: boolean }> {
  return setting.alone(repository, async () => {
    const kept: ThreadId[] = [];
    const passing: string[] = [];
    try {
      for (const { threadId, path } of worktrees.filter((w) => isWorktree(w.path))) {
        const state = await readFolder(path, setting.scratch);
        const { commit } = await commitState(path, state, `ropewalk: ${threadId} at a backup`, setting.clock.now());
        const ref = setting.refs.named(threadId, backupName);
        passing.push(ref);
        await setRef(repository, ref, commit);
        kept.push(threadId);
      }
      const found = (await setting.refs.list(repository)).filter(({ ref, of }) => of !== backupName || passing.includes(ref));
      const refs = found.map(({ ref, commit }): KeptRef => ({ ref, commit }));
      return { refs, worktrees: kept, isWritten: refs.length > 0 && (await writeBundle(repository, refs, to)) };
    } finally {
      await dropRefs(repository, passing).catch(() => undefined);
    }
  });
}

/** False where the user's own branches have all of it. */
async function writeBundle(repository: string, refs: readonly KeptRef[], to: string): Promise<boolean> {
  const input = Buffer.from(refs.map(({ ref }) => `${ref}\n`).join(""));
  try {
    await git(repository, ["bundle", "create", "-q", to, "--stdin", "--not", "--branches", "--tags", "--remotes"], {
      input,
      timeoutMs: longMs,
    });
    return true;
  } catch (error) {
    if (error instanceof GitFailure && error.message.includes("empty bundle")) return false;
    throw error;
  }
}

/**
 * Brings the refs of a bundle back. One that is there stays what it is, but for what worktrees held. Answers the refs that
 * could not be made, because what they stand for is neither in the bundle nor in the repository. Throws GitFailure, e.g.
 * when the repository lacks what the bundle builds on.
 */
export async function bringRefsBack(repository: string, bundle: string | null, refs: readonly KeptRef[]): Promise<KeptRef[]> {
  if (bundle !== null && existsSync(bundle)) {
    await git(repository, ["bundle", "verify", "-q", bundle], { timeoutMs: longMs });
    await git(repository, ["bundle", "unbundle", bundle], { timeoutMs: longMs });
  }
  const there = new Set((await gitText(repository, ["for-each-ref", "--format=%(refname)", "refs/ropewalk/"])).split("\n"));
  const wanted = refs.filter(({ ref }) => !there.has(ref) || ref.endsWith(`/${backupName}`));
  if (wanted.length === 0) return [];
  const asked = Buffer.from(wanted.map(({ commit }) => `${commit}^{commit}\n`).join(""));
  const answers = (await gitText(repository, ["cat-file", "--batch-check"], { input: asked, timeoutMs: longMs })).split("\n");
  const isThere = wanted.map((_, at) => / commit \d+$/.test(answers[at] ?? ""));
  const lines = wanted.flatMap(({ ref, commit }, at) => (isThere[at] ? [`update ${ref} ${commit}\n`] : []));
  await git(repository, ["update-ref", "--no-deref", "--stdin"], { input: Buffer.from(lines.join("")) });
  return wanted.filter((_, at) => !isThere[at]);
}
