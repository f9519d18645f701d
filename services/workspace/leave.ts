import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, rmdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import type { EnvironmentId, ThreadId } from "../../schemas/ids.ts";
import { threadOf } from "../runtime/folders.ts";
import type { UnsavedWork } from "../runtime/ports/workspaces.ts";
import { gitMaybe, gitText } from "./git.ts";
import { dropRefs, Refs } from "./refs.ts";
import { isWorktree } from "./setting.ts";
import { lookAtFolder } from "./snapshot.ts";
import { unsavedIn } from "./unsaved.ts";
import { removeWorktree, trashPrefix } from "./worktree.ts";

/** What an environment has in one repository. */
export type RepositoryTraces = {
  /** Its common git folder. */ repository: string;
  refs: string[] /** Worktrees that it knows of ours. */;
  worktrees: string[];
};

/** Work in a worktree that is nowhere else. */
export type WorktreeWork = { threadId: ThreadId; path: string; work: UnsavedWork };

/** The folders of worktrees that are there, also of threads that were deleted. */
async function foldersIn(root: string): Promise<string[]> {
  if (!existsSync(root)) return [];
  return (await readdir(root)).filter((name) => !name.startsWith(".")).map((name) => join(root, name));
}

/** What would be lost with the worktrees below `root`. Reads only. */
export async function workIn(environmentId: EnvironmentId, root: string): Promise<WorktreeWork[]> {
  const refs = new Refs(environmentId);
  const scratch = await mkdtemp(join(tmpdir(), "ropewalk-look-"));
  const found: WorktreeWork[] = [];
  try {
    for (const path of await foldersIn(root)) {
      const threadId = threadOf(basename(path));
      const work = await workOf(path, refs.baseOf(threadId), scratch);
      if (work !== null) found.push({ threadId, path, work });
    }
    return found;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function workOf(path: string, baseRef: string, scratch: string): Promise<UnsavedWork | null> {
  try {
    const base = await gitMaybe(path, ["rev-parse", "-q", "--verify", `${baseRef}^{commit}`]);
    return await lookAtFolder(path, scratch, (now, call) => unsavedIn(path, now, base, call));
  } catch (error) {
    return { files: [], count: 0, commits: 0, unknown: error instanceof Error ? error.message : String(error) };
  }
}

/**
 * What an environment has in the repositories of its projects and of its worktrees. A project whose folder is gone has
 * nothing any more. Throws GitFailure for a repository that cannot be read.
 */
export async function tracesIn(environmentId: EnvironmentId, root: string, projects: readonly string[]): Promise<RepositoryTraces[]> {
  const refs = new Refs(environmentId);
  const repositories = new Set<string>();
  for (const folder of projects)
    if (isWorktree(folder)) repositories.add(await gitText(folder, ["rev-parse", "--path-format=absolute", "--git-common-dir"]));
  for (const folder of await foldersIn(root)) {
    const common = await gitMaybe(folder, ["rev-parse", "--path-format=absolute", "--git-common-dir"]).catch(() => null);
    if (common !== null) repositories.add(common);
  }
  const traces: RepositoryTraces[] = [];
  for (const repository of repositories)
    traces.push({
      repository,
      refs: (await refs.list(repository)).map(({ ref }) => ref),
      worktrees: await registeredBelow(repository, root),
    });
  return traces.filter((t) => t.refs.length > 0 || t.worktrees.length > 0);
}

/** Paths of worktrees below `root` that a repository has on its list, whether they are there or not. */
async function registeredBelow(repository: string, root: string): Promise<string[]> {
  const list = join(repository, "worktrees");
  if (!existsSync(list)) return [];
  const paths: string[] = [];
  for (const name of await readdir(list)) {
    const names = await readFile(join(list, name, "gitdir"), "utf8").catch(() => "");
    const path = dirname(names.trim());
    if (dirname(path) === root) paths.push(path);
  }
  return paths;
}

/** Takes an environment's worktrees and private refs out of a repository, and nothing else. May be repeated. */
export async function removeTraces(environmentId: EnvironmentId, { repository, worktrees }: RepositoryTraces): Promise<void> {
  for (const path of worktrees) await removeWorktree(repository, path, () => {});
  // As git does when the last one goes.
  if (worktrees.length > 0) await rmdir(join(repository, "worktrees")).catch(() => undefined);
  const refs = await new Refs(environmentId).list(repository);
  await dropRefs(
    repository,
    refs.map(({ ref }) => ref),
  );
}

/** What is left of worktrees that no repository knows. */
export async function removeRest(root: string): Promise<void> {
  for (const path of await foldersIn(root)) await removeWorktree(null, path, () => {});
  if (!existsSync(root)) return;
  for (const name of await readdir(root))
    if (name === ".tmp" || name.startsWith(trashPrefix)) await rm(join(root, name), { recursive: true });
  await rmdir(root).catch(() => undefined);
}
