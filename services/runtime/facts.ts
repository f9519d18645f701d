import type { PublicCommand } from "../../schemas/command.ts";
import type { ProjectId } from "../../schemas/ids.ts";
import type { RepositoryIdentity } from "../../schemas/project.ts";
import type { Store } from "./ports/store.ts";

/** What a folder is, as the outside says. */
export type FolderFacts = {
  /** Real path of the folder itself. */
  real: string;
  /** The same, or for a folder inside a repository the top level of its worktree. */
  path: string;
  repository: RepositoryIdentity | null;
  /** Real paths of the repository's worktrees, the main one among them; only the folder itself without a repository. */
  worktrees: string[];
};

/**
 * Answers about the world outside, gathered before a command is decided and never while it is. Returns null for a folder
 * that is not there.
 */
export interface FactFinder {
  folder(path: string): Promise<FolderFacts | null>;
}

/** What was found for one command, by the path that was asked about. */
export type Facts = ReadonlyMap<string, FolderFacts | null>;

/** Asks about every folder that a command names, and about its project's. */
export async function factsFor(command: PublicCommand, store: Pick<Store, "project">, finder: FactFinder): Promise<Facts> {
  const paths = new Set<string>();
  if (command.type === "project.add") paths.add(command.path);
  const { path, projectId } = namedFolder(command);
  if (path !== undefined) {
    paths.add(path);
    const project = projectId === undefined ? null : store.project(projectId);
    if (project !== null) paths.add(project.path);
  }
  const found = await Promise.all([...paths].map(async (p) => [p, await finder.folder(p)] as const));
  return new Map(found);
}

function namedFolder(command: PublicCommand): { path?: string | undefined; projectId?: ProjectId | undefined } {
  if (command.type === "thread.import") return { path: command.import.worktreePath, projectId: command.import.projectId };
  if ((command.type !== "thread.create" && command.type !== "thread.launch") || command.workspace?.strategy !== "existing") return {};
  return { path: command.workspace.path, projectId: command.projectId };
}
