import { constants } from "node:fs";
import { access, copyFile, lstat, mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import type { LeftOutFile } from "../../schemas/checkpoint.ts";
import { entries, type GitCall, git, gitMaybe, gitText, withoutFilters } from "./git.ts";
import { type PassingCall, passingObjects } from "./passing-objects.ts";

/** A larger file is not kept by a checkpoint, and not taken over into a worktree, unless it is committed. */
const maxFileBytes = 100 * 1024 * 1024;
/** How many of them a checkpoint names. */
const maxNamed = 100;
const snapshotMs = 60_000;

export type FolderState = {
  /** Everything in the folder that git does not ignore, as a tree. */
  tree: string;
  /** What is checked out; null on a branch without a commit. */
  head: string | null;
  leftOut: LeftOutFile[];
};

export type Snapshot = FolderState & { commit: string };

/**
 * Writes down what a folder holds: tracked files as they are, and new ones, but not what is ignored. Works on a copy of the
 * index, so that neither index nor branches nor stash are touched; all that it writes is objects. `scratch` is a folder
 * for that copy. Throws GitFailure.
 */
export function readFolder(folder: string, scratch: string): Promise<FolderState> {
  return withFolderIndex(folder, scratch, "kept", async (_call, state) => state);
}

/**
 * The same for a mere look: what is written goes again, so `call` belongs to every call of git that asks about the tree, and
 * nothing knows it afterwards.
 */
export function lookAtFolder<T>(folder: string, scratch: string, use: (state: FolderState, call: PassingCall) => Promise<T>): Promise<T> {
  return withFolderIndex(folder, scratch, "passing", ({ env = {} }, state) => use(state, { env }));
}

/** What a folder holds, with that index for as long as `use` takes; `passing` objects go with it. */
export async function withFolderIndex<T>(
  folder: string,
  scratch: string,
  objects: "kept" | "passing",
  use: (call: GitCall, state: FolderState) => Promise<T>,
): Promise<T> {
  const [gitDir, head, settings] = await Promise.all([
    gitText(folder, ["rev-parse", "--absolute-git-dir"]),
    gitMaybe(folder, ["rev-parse", "-q", "--verify", "HEAD^{commit}"]),
    withoutFilters(folder),
  ]);
  await mkdir(scratch, { recursive: true });
  const own = await mkdtemp(join(scratch, ".index-"));
  try {
    const passing = objects === "passing" ? await passingObjects(folder, own) : {};
    const call = { index: join(own, "index"), timeoutMs: snapshotMs, settings, ...passing };
    // Its notes of times and sizes say which files need not be read again. A missing index is an empty one.
    await copyFile(join(gitDir, "index"), call.index).catch(() => undefined);
    const [changed, added] = await Promise.all([
      git(folder, ["diff-files", "-z", "--name-only", "--ignore-submodules=dirty"], call),
      git(folder, ["ls-files", "-z", "--others", "--exclude-standard"], call),
    ]);
    const { kept, leftOut } = await sift(folder, entries(changed), entries(added));
    if (kept.length > 0) {
      const input = Buffer.concat(kept.flatMap((path) => [path, Buffer.of(0)]));
      await git(folder, ["update-index", "-z", "--add", "--remove", "--replace", "--stdin"], { ...call, input });
    }
    return await use(call, { tree: await gitText(folder, ["write-tree", "--missing-ok"], call), head, leftOut });
  } finally {
    await rm(own, { recursive: true, force: true });
  }
}

/** Makes a commit of a folder's state, whose parent is what is checked out there. No ref points to it yet. */
export async function commitState(folder: string, state: FolderState, about: string, at: number): Promise<Snapshot> {
  const parent = state.head === null ? [] : ["-p", state.head];
  const who = { NAME: "ropewalk", EMAIL: "ropewalk@localhost", DATE: `@${Math.floor(at / 1_000)} +0000` };
  const env = Object.fromEntries(
    ["AUTHOR", "COMMITTER"].flatMap((role) => Object.entries(who).map(([what, value]) => [`GIT_${role}_${what}`, value])),
  );
  const commit = await gitText(folder, ["commit-tree", state.tree, ...parent], { env, input: Buffer.from(`${about}\n`) });
  return { ...state, commit };
}

/** What can be kept, and what cannot: other repositories in it, files that are too large or that may not be read. */
async function sift(folder: string, changed: Buffer[], added: Buffer[]): Promise<{ kept: Buffer[]; leftOut: LeftOutFile[] }> {
  const kept: Buffer[] = [];
  const leftOut: LeftOutFile[] = [];
  const seen = new Set<string>();
  for (const path of [...changed, ...added]) {
    const key = path.toString("latin1");
    if (seen.has(key)) continue;
    seen.add(key);
    const reason = await whyNot(folder, path);
    if (reason === null) kept.push(path);
    else if (leftOut.length < maxNamed) leftOut.push({ path: path.toString("utf8").toWellFormed(), reason });
  }
  return { kept, leftOut };
}

async function whyNot(folder: string, path: Buffer): Promise<LeftOutFile["reason"] | null> {
  if (path.at(-1) === slash) return "nested_repository";
  const full = Buffer.concat([Buffer.from(`${folder}/`), path]);
  const found = await lstat(full).catch(() => null);
  if (found === null || !found.isFile()) return null;
  if (found.size > maxFileBytes) return "too_large";
  return access(full, constants.R_OK).then(
    () => null,
    () => "unreadable" as const,
  );
}

const slash = "/".charCodeAt(0);
