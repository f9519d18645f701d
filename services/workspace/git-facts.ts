import { realpath, stat } from "node:fs/promises";
import type { RepositoryIdentity } from "../../schemas/project.ts";
import type { FactFinder, FolderFacts } from "../runtime/facts.ts";
import { gitMaybe } from "./git.ts";

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
    const top = await ask(real, ["rev-parse", "--show-toplevel"]);
    if (top === null) return { real, path: real, repository: null, worktrees: [real] };
    const folder = await realpath(top);
    const [repository, worktrees] = await Promise.all([identityOf(folder), worktreesOf(folder)]);
    return { real, path: folder, repository, worktrees } satisfies FolderFacts;
  },
};

/** What git answers; null for an error, and for no answer in time. */
const ask = (cwd: string, args: string[]) => gitMaybe(cwd, args, { timeoutMs });

/** Normalised origin, else the root commit (contract §2). */
async function identityOf(folder: string): Promise<RepositoryIdentity | null> {
  const origin = await ask(folder, ["config", "--get", "remote.origin.url"]);
  if (origin !== null && origin !== "") return { kind: "origin", value: normaliseOrigin(origin) };
  const roots = await ask(folder, ["rev-list", "--max-parents=0", "HEAD"]);
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
  const listed = await ask(folder, ["worktree", "list", "--porcelain", "-z"]);
  const paths = (listed ?? "").split("\0").flatMap((line) => (line.startsWith("worktree ") ? [line.slice("worktree ".length)] : []));
  const real = await Promise.all(paths.map((p) => realpath(p).catch(() => null)));
  return [...new Set([folder, ...real.filter((p) => p !== null)])];
}
