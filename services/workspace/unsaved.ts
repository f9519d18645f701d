import type { UnsavedWork } from "../runtime/ports/workspaces.ts";
import { changedFiles, emptyTree } from "./diff.ts";
import { gitMaybe, gitText } from "./git.ts";
import type { PassingCall } from "./passing-objects.ts";
import type { FolderState } from "./snapshot.ts";

/**
 * What would be lost with a worktree: files that differ both from what it was made from and from what is checked out, and
 * commits that no branch, tag or remote has. Null when there is nothing. `call` is that of the look which read the folder.
 */
export async function unsavedIn(folder: string, now: FolderState, base: string | null, call: PassingCall): Promise<UnsavedWork | null> {
  const [baseTree, baseHead] =
    base === null ? [null, null] : await Promise.all([treeOf(folder, base), gitMaybe(folder, verify(`${base}^1`))]);
  const atBase = baseTree === now.tree && (baseHead === null || baseHead === now.head);
  const headTree = now.head === null ? null : await treeOf(folder, now.head);
  const isSaved = atBase || headTree === now.tree;
  const changes = isSaved ? [] : await changedFiles(folder, baseTree ?? headTree ?? (await emptyTree(folder)), now.tree, call);
  const commits = now.head === null || now.head === baseHead || now.head === base ? 0 : await unreachable(folder, now.head, baseHead);
  const files = [...changes.map((c) => c.path), ...now.leftOut.filter((l) => l.reason !== "unreadable").map((l) => l.path)];
  return files.length === 0 && commits === 0 ? null : { files: files.slice(0, 100), count: files.length, commits };
}

const verify = (what: string) => ["rev-parse", "-q", "--verify", what];
const treeOf = (folder: string, commit: string) => gitMaybe(folder, verify(`${commit}^{tree}`));

/** Commits that only this worktree's HEAD leads to, without those that the worktree began with. */
async function unreachable(folder: string, head: string, baseHead: string | null): Promise<number> {
  const known = ["--branches", "--tags", "--remotes", ...(baseHead === null ? [] : [baseHead])];
  return Number(await gitText(folder, ["rev-list", "--count", head, "--not", ...known]));
}
