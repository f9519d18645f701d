import { existsSync, readdirSync } from "node:fs";
import { lstat, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { AppThread } from "../../schemas/thread.ts";
import { threadOf } from "../runtime/folders.ts";
import type { WorkspaceFinding, WorkspaceReport, WorktreeUse } from "../runtime/ports/workspaces.ts";
import { asThread, threadFrom } from "../runtime/typed-actors.ts";
import { gitText } from "./git.ts";
import { isWorktree, type Setting } from "./setting.ts";

/** Files that are counted in one worktree at most. */
const maxCounted = 100_000;
/** A lock that is younger may be of a git that is just at work. */
const lockMs = 10_000;

/** What there is of worktrees and private refs, and what is not as it should be. Reads only. */
export async function inspectWorkspaces(setting: Setting): Promise<WorkspaceReport> {
  const findings: WorkspaceFinding[] = [];
  const threads = setting.store.actorsBy({ kind: "thread", statuses: ["idle", "running"] }).map(asThread);
  const worktrees: WorktreeUse[] = [];
  for (const name of existsSync(setting.root) ? readdirSync(setting.root).filter((n) => !n.startsWith(".")) : []) {
    const path = join(setting.root, name);
    const threadId = threadOf(name);
    const thread = threadFrom(setting.store, threadId);
    if (thread === null || thread.status === "deleted") findings.push(leftOver(path, thread));
    worktrees.push({ threadId, path, ...(await sizeOf(path)) });
  }
  for (const thread of threads) {
    const path = thread.workspace.strategy === "worktree" ? thread.workspace.path : null;
    if (path !== null && !existsSync(path)) findings.push(gone(thread, path));
  }
  let checkpoints = 0;
  let repositories = 0;
  for (const project of setting.store.projects().filter((p) => isWorktree(p.path))) {
    try {
      const refs = new Set((await setting.refs.list(project.path)).map((r) => r.ref));
      checkpoints += [...refs].filter((ref) => !ref.endsWith("/base")).length;
      repositories += 1;
      findings.push(
        ...missing(
          setting,
          threads.filter((t) => t.projectId === project.id),
          refs,
        ),
        ...(await locks(project.path)),
      );
    } catch (error) {
      findings.push({
        state: "wrong",
        text: `${project.path} cannot be read: ${(error as Error).message}`,
        hint: "See what git says in that folder.",
      });
    }
  }
  return { worktrees, checkpoints, repositories, findings };
}

const leftOver = (path: string, thread: AppThread | null): WorkspaceFinding => ({
  state: "note",
  text: `${path} is left of ${thread === null ? "a thread that is not in this store" : `${thread.id}, which was deleted: it held work`}`,
  hint: `When nothing in it is needed: git worktree remove --force ${path}`,
});

const gone = (thread: AppThread, path: string): WorkspaceFinding => ({
  state: "note",
  text: `the worktree of ${thread.id} is not there any more: ${path}`,
  hint: `Go on in a fork (ropewalk fork ${thread.id}), which begins with its last checkpoint.`,
});

/** The newest checkpoint of each thread, whose ref somebody removed. */
function missing({ store }: Setting, threads: readonly AppThread[], refs: ReadonlySet<string>): WorkspaceFinding[] {
  return threads.flatMap((thread) => {
    const ref = thread.latestStable === null ? null : (store.checkpoint(thread.latestStable.checkpointId)?.workspaceRef ?? null);
    if (ref === null || refs.has(ref)) return [];
    return [
      {
        state: "note" as const,
        text: `the files of ${thread.id}'s last checkpoint are gone: ${ref}`,
        hint: "Its next run makes a new one.",
      },
    ];
  });
}

async function locks(repository: string): Promise<WorkspaceFinding[]> {
  const common = await gitText(repository, ["rev-parse", "--path-format=absolute", "--git-common-dir"]);
  const own = await readdir(join(common, "refs", "ropewalk"), { recursive: true }).catch(() => []);
  const candidates = [
    join(common, "packed-refs.lock"),
    ...own.filter((n) => n.endsWith(".lock")).map((n) => join(common, "refs", "ropewalk", n)),
  ];
  const found: WorkspaceFinding[] = [];
  for (const path of candidates) {
    const lock = await stat(path).catch(() => null);
    if (lock === null || Date.now() - lock.mtimeMs < lockMs) continue;
    found.push({
      state: "wrong",
      text: `a git command was ended before it let go of ${path}`,
      hint: "When no git is at work there, remove that file.",
    });
  }
  return found;
}

async function sizeOf(path: string): Promise<Pick<WorktreeUse, "bytes" | "isWhole">> {
  let bytes = 0;
  let counted = 0;
  const folders = [path];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
      counted += 1;
      if (counted > maxCounted) return { bytes, isWhole: false };
      const at = join(folder, entry.name);
      if (entry.isDirectory()) folders.push(at);
      else if (entry.isFile()) bytes += (await lstat(at).catch(() => ({ size: 0 }))).size;
    }
  }
  return { bytes, isWhole: true };
}
