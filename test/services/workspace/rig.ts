import { createHash } from "node:crypto";
import { lstatSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ProjectId, ThreadId } from "../../../schemas/ids.ts";
import { startEnvironment, type TestEnvironment, type TestOptions, temporaryFolder } from "../../support/environments.ts";
import { git, makeRepository } from "../../support/repository.ts";

/** `write FILE TEXT` writes a file, `add FILE TEXT` says so as well; anything else is answered with ok. */
const writingScript = {
  rules: [
    { match: { regex: "^write (\\S+) ([\\s\\S]*)$" }, steps: [{ fileChange: { path: "$1", content: "$2" } }, { text: "wrote $1" }] },
    { match: { contains: "fail" }, steps: [{ fail: { message: "as the script says" } }] },
  ],
};

export type Rig = { env: TestEnvironment; repository: string; projectId: ProjectId };

/** An environment whose agents write files, and a repository with one commit that it knows as a project. */
export async function startInRepository(options: TestOptions & { prepare?: (repository: string) => void } = {}): Promise<Rig> {
  const { prepare, ...given } = options;
  const repository = join(temporaryFolder(), "rope");
  makeRepository(repository);
  prepare?.(repository);
  const env = await startEnvironment({ scripts: { p1: writingScript }, ...given });
  const { projectId } = await env.send({ type: "project.add", path: repository });
  return { env, repository, projectId };
}

/** A fork at the latest completed run. */
export async function fork(env: TestEnvironment, threadId: ThreadId): Promise<ThreadId> {
  return (await env.send({ type: "thread.fork", threadId, at: { kind: "latest_stable" } })).threadId;
}

/** Where a thread works; throws while that is not known. */
export function worktreeOf(env: TestEnvironment, threadId: ThreadId): string {
  const workspace = env.threads.get(threadId)?.workspace;
  if (workspace?.strategy !== "worktree" || workspace.path === null) throw new Error(`${threadId} has no worktree`);
  return workspace.path;
}

/** A repository with everything in it that a person may have under way: staged, changed, new, stashed, deleted. */
export function makeDirty(repository: string): void {
  const write = (name: string, text: string) => writeFileSync(join(repository, name), text);
  write("stashed.txt", "to be stashed");
  git(repository, "add", "stashed.txt");
  git(repository, "stash");
  write("gone.txt", "will be deleted");
  write(".gitignore", "ignored.txt\n.env\n");
  git(repository, "add", ".");
  git(repository, "commit", "-m", "second");
  git(repository, "branch", "other");
  git(repository, "rm", "-q", "gone.txt");
  write("staged.txt", "staged");
  git(repository, "add", "staged.txt");
  write("rope.txt", "one\ntwo changed\nthree\n");
  write("new.txt", "untracked");
  write("ignored.txt", "ignored");
  write(".env", "SECRET=1");
}

/** All that must be the same afterwards: what git says, and every byte that is not git's own bookkeeping of ours. */
export function stateOf(repository: string): Record<string, string> {
  const say = (...args: string[]) => git(repository, ...args);
  const bytes = (path: string) => createHash("sha256").update(readFileSync(path)).digest("hex");
  return {
    status: say("--no-optional-locks", "status", "--porcelain=v2", "--branch", "--ignored"),
    index: bytes(join(repository, ".git", "index")),
    branches: say("for-each-ref", "refs/heads", "refs/tags", "refs/remotes", "refs/stash"),
    stash: say("stash", "list", "--format=%H %gd %s"),
    head: readFileSync(join(repository, ".git", "HEAD"), "utf8"),
    config: bytes(join(repository, ".git", "config")),
    files: JSON.stringify(filesOf(repository)),
  };
}

/** Every file below a folder but git's own, with mode and digest. */
export function filesOf(folder: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const name = path.slice(folder.length + 1);
    // A name that is no UTF-8 cannot be asked for as a text.
    if (name === ".git" || name.startsWith(".git/") || name.includes("\ufffd") || entry.isDirectory()) continue;
    const content = entry.isSymbolicLink() ? readlinkSync(path) : readFileSync(path);
    found[name] = `${(lstatSync(path).mode & 0o777).toString(8)} ${createHash("sha256").update(content).digest("hex").slice(0, 12)}`;
  }
  return Object.fromEntries(Object.entries(found).sort());
}

/** Worktrees that the repository knows, the main one left out. */
export function worktreesOf(repository: string): string[] {
  return git(repository, "worktree", "list", "--porcelain")
    .split("\n")
    .flatMap((line) => (line.startsWith("worktree ") ? [line.slice(9)] : []))
    .slice(1);
}

/** The private refs in a repository. */
export const privateRefs = (repository: string): string[] =>
  git(repository, "for-each-ref", "--format=%(refname)", "refs/ropewalk").split("\n").filter(Boolean);
