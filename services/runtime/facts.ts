import type { PublicCommand } from "../../schemas/command.ts";
import type { ProjectId, ThreadId } from "../../schemas/ids.ts";
import type { RepositoryIdentity } from "../../schemas/project.ts";
import type { WorkspaceWish } from "../../schemas/thread.ts";
import type { Arrival, MovingCode } from "./ports/moving-code.ts";
import type { Store } from "./ports/store.ts";
import type { UnsavedWork } from "./ports/workspaces.ts";
import { asThread } from "./typed-actors.ts";

/** What a folder is, as the outside says. */
export type FolderFacts = {
  /** Real path of the folder itself. */
  real: string;
  /** The same, or for a folder inside a repository the top level of its worktree. */
  path: string;
  repository: RepositoryIdentity | null;
  /** Real paths of the repository's worktrees, the main one among them; only the folder itself without a repository. */
  worktrees: string[];
  /** For a thread's own worktree: what would be lost with it. */
  unsaved?: UnsavedWork | null;
  /** For a move: commits that this side has. */
  commits?: string[];
  /** For a thread that comes with its code: the folder that was prepared for it. */
  arrival?: Arrival;
};

/** What is known besides about something that is no folder. */
export const about = (facts: Pick<FolderFacts, "commits" | "arrival">): FolderFacts => ({
  real: "",
  path: "",
  repository: null,
  worktrees: [],
  ...facts,
});

/**
 * Answers about the world outside, gathered before a command is decided and never while it is. Returns null for a folder
 * that is not there.
 */
export interface FactFinder {
  folder(path: string): Promise<FolderFacts | null>;
  /** What would be lost with a thread's own worktree; null: nothing, or there is none. */
  code?: MovingCode;
  unsaved?(threadId: ThreadId): Promise<UnsavedWork | null>;
}

/** What was found for one command, by the path that was asked about. */
export type Facts = ReadonlyMap<string, FolderFacts | null>;

/** Asks about every folder that a command names, and about its project's. */
export async function factsFor(command: PublicCommand, store: Pick<Store, "project" | "actor">, finder: FactFinder): Promise<Facts> {
  if ((command.type === "thread.delete" || command.type === "thread.purge") && command.discardWork !== true)
    return factsOfWorktree(command.threadId, store, finder);
  if (command.type === "thread.move" && command.withoutCode !== true && finder.code !== undefined)
    return new Map([[command.threadId, about({ commits: await finder.code.candidates(command.threadId) })]]);
  const paths = new Set<string>();
  if (command.type === "project.add") paths.add(command.path);
  const { path, projectId } = namedFolder(command, store);
  if (path !== undefined) {
    paths.add(path);
    const project = projectId === undefined ? null : store.project(projectId);
    if (project !== null) paths.add(project.path);
  }
  const found = await Promise.all([...paths].map(async (p) => [p, await finder.folder(p)] as const));
  return new Map(found);
}

/** Of the worktree that goes with a thread, under the worktree's path. */
async function factsOfWorktree(threadId: ThreadId, store: Pick<Store, "actor">, finder: FactFinder): Promise<Facts> {
  const row = store.actor(threadId);
  const workspace = row === null ? null : asThread(row).workspace;
  if (workspace?.strategy !== "worktree" || workspace.path === null) return new Map();
  const unsaved = (await finder.unsaved?.(threadId)) ?? null;
  return new Map([[workspace.path, { real: workspace.path, path: workspace.path, repository: null, worktrees: [], unsaved }]]);
}

function namedFolder(
  command: PublicCommand,
  store: Pick<Store, "actor">,
): { path?: string | undefined; projectId?: ProjectId | undefined } {
  switch (command.type) {
    case "thread.import":
      return { path: command.import.worktreePath, projectId: command.import.projectId };
    case "thread.create":
    case "thread.launch":
      return { ...pathOf(command.workspace), projectId: command.projectId };
    case "thread.fork":
      return { ...pathOf(command.workspace), projectId: projectOf(command.threadId, store) };
    case "task.spawn":
      return { ...pathOf(command.workspace), projectId: projectOf(command.parentThreadId, store) };
    default:
      return {};
  }
}

const pathOf = (wish: WorkspaceWish | undefined) => (wish?.strategy === "existing" ? { path: wish.path } : {});

function projectOf(threadId: ThreadId, store: Pick<Store, "actor">): ProjectId | undefined {
  const row = store.actor(threadId);
  return row === null ? undefined : asThread(row).projectId;
}
