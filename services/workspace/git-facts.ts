import { execFile } from "node:child_process";
import { realpath, stat } from "node:fs/promises";
import type { RepositoryIdentity } from "../../schemas/project.ts";
import type { FactFinder, FolderFacts } from "../runtime/facts.ts";

const timeoutMs = 10_000;

/** What the `git` program says of a folder. A folder outside of any repository is a fact too, not a failure. */
export const gitFacts: FactFinder = {
  async folder(path) {
    let real: string;
    try {
      real = await realpath(path);
      if (!(await stat(real)).isDirectory()) return null;
    } catch {
      return null;
    }
    const top = await git(real, ["rev-parse", "--show-toplevel"]);
    if (top === null) return { real, path: real, repository: null, worktrees: [real] };
    const folder = await realpath(top);
    const [repository, worktrees] = await Promise.all([identityOf(folder), worktreesOf(folder)]);
    return { real, path: folder, repository, worktrees } satisfies FolderFacts;
  },
};

/** Runs git in a folder; null when it answers with an error. No prompt, no pager, no lock taken for a mere look. */
function git(cwd: string, args: string[]): Promise<string | null> {
  const env = { ...process.env, GIT_TERMINAL_PROMPT: "0", GIT_OPTIONAL_LOCKS: "0", LC_ALL: "C" };
  return new Promise((resolve) => {
    execFile("git", ["-C", cwd, ...args], { env, timeout: timeoutMs, maxBuffer: 8 * 1024 * 1024 }, (error, stdout) => {
      resolve(error === null ? stdout.trim() : null);
    });
  });
}

/** Normalised origin, else the root commit (contract §2). */
async function identityOf(folder: string): Promise<RepositoryIdentity | null> {
  const origin = await git(folder, ["config", "--get", "remote.origin.url"]);
  if (origin !== null && origin !== "") return { kind: "origin", value: normaliseOrigin(origin) };
  const roots = await git(folder, ["rev-list", "--max-parents=0", "HEAD"]);
  const root = roots?.split("\n").sort()[0];
  return root === undefined || root === "" ? null : { kind: "root_commit", value: root };
}

/** One spelling for the ways to write a remote: `git@host:a/b.git`, `ssh://git@host/a/b`, `https://user@host/a/b/` are one. */
function normaliseOrigin(origin: string): string {
  const scp = /^(?:[^@/]+@)?([^:/]+):(?!\/\/)(.+)$/.exec(origin);
  const url = /^[a-z][a-z0-9+.-]*:\/\/(?:[^@/]*@)?([^/:]+)(?::\d+)?\/(.+)$/i.exec(origin);
  const [, host, path] = url ?? scp ?? [];
  if (host === undefined || path === undefined) return origin;
  return `${host.toLowerCase()}/${path
    .replace(/^\/+/, "")
    .replace(/\/+$/, "")
    .replace(/\.git$/, "")}`;
}

async function worktreesOf(folder: string): Promise<string[]> {
  const listed = await git(folder, ["worktree", "list", "--porcelain", "-z"]);
  const paths = (listed ?? "").split("\0").flatMap((line) => (line.startsWith("worktree ") ? [line.slice("worktree ".length)] : []));
  const real = await Promise.all(paths.map((p) => realpath(p).catch(() => null)));
  return [...new Set([folder, ...real.filter((p) => p !== null)])];
}
