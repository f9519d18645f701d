import type { RepositoryIdentity } from "../../schemas/project.ts";

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
