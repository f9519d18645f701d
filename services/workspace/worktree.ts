import { existsSync } from "node:fs";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { git, gitMaybe, longMs, withoutFilters } from "./git.ts";

/** Says in a worktree's own git folder that it was filled to its end. */
const filledMark = "ropewalk-filled";

export type Step = (name: string) => void;

/**
 * Makes a worktree at `path`, which nothing else uses, as `commit` (a snapshot) has it. What is checked out is the
 * snapshot's parent, on no branch: what was not committed where the snapshot was taken is not committed here either. On a
 * branch without a commit it is the snapshot itself. May be repeated: what an earlier call left half done is made anew,
 * what it had finished stays as it is.
 */
export async function makeWorktree(repository: string, path: string, commit: string, step: Step): Promise<void> {
  if (await isFilled(path)) return;
  await forgetWorktree(repository, path);
  await rm(path, { recursive: true, force: true });
  await mkdir(dirname(path), { recursive: true });
  const head = await gitMaybe(repository, ["rev-parse", "-q", "--verify", `${commit}^1`]);
  await git(repository, ["worktree", "add", "--detach", "--no-checkout", path, head ?? commit]);
  step("worktree.added");
  const call = { settings: await withoutFilters(path), timeoutMs: longMs };
  await git(path, ["read-tree", "--reset", "-u", commit], call);
  step("worktree.filled");
  if (head !== null) await git(path, ["read-tree", "-i", "-m", head], call);
  await git(path, ["update-index", "-q", "--refresh"], call).catch(() => undefined);
  await writeFile(join(await gitDirOf(path), filledMark), `${commit}\n`);
  step("worktree.marked");
}

/**
 * Removes a worktree that {@link makeWorktree} made, with everything in it, and what the repository knows of it. May be
 * repeated, and finds nothing to do where neither is there.
 */
export async function removeWorktree(repository: string | null, path: string, step: Step): Promise<void> {
  const trash = join(dirname(path), `${trashPrefix}${basename(path)}`);
  await rm(trash, { recursive: true, force: true });
  // In one step: there is no half of a worktree that somebody could take for one.
  if (existsSync(path)) await rename(path, trash);
  step("worktree.moved_away");
  if (repository !== null) await forgetWorktree(repository, path);
  step("worktree.forgotten");
  await rm(trash, { recursive: true, force: true });
}

export const trashPrefix = ".trash-";

async function isFilled(path: string): Promise<boolean> {
  try {
    await readFile(join(await gitDirOf(path), filledMark));
    return true;
  } catch {
    return false;
  }
}

/** The repository's own folder of a worktree, as the worktree names it. */
async function gitDirOf(path: string): Promise<string> {
  const text = await readFile(join(path, ".git"), "utf8");
  return text.replace(/^gitdir: /, "").trim();
}

/** Takes a worktree off the repository's list; nobody else's is looked at, also where its folder is gone. */
async function forgetWorktree(repository: string, path: string): Promise<void> {
  const common = await gitMaybe(repository, ["rev-parse", "--path-format=absolute", "--git-common-dir"]);
  if (common === null) return;
  const own = join(common, "worktrees", basename(path));
  const names = await readFile(join(own, "gitdir"), "utf8").catch(() => null);
  const isOurs = names === null ? existsSync(own) : names.trim() === join(path, ".git");
  // The name is a thread's uuid: a folder of that name without an address is what a killed `git worktree add` left.
  if (isOurs) await rm(own, { recursive: true, force: true });
}
