import type { ChangedFile, Checkpoint, WorkspaceSnapshot } from "../../../schemas/checkpoint.ts";
import type { RunId, ThreadId } from "../../../schemas/ids.ts";
import type { Run } from "../../../schemas/run.ts";
import type { Needle } from "../redaction/needle.ts";

/** What would be lost with a worktree. */
export type UnsavedWork = {
  /** Names of files, a hundred at most. */
  files: string[];
  /** How many there are. */
  count: number;
  /** Commits that no branch has. */
  commits: number;
  /** Set when git could not say: why. */
  unknown?: string;
};

/** What became of keeping a folder's state: `note` says why there is none although the folder is a repository. */
export type KeptState = { snapshot: WorkspaceSnapshot | null; note: string | null };

/** How two states of a folder differ. `isCut`: the patch is longer than was asked for, and ends at a whole line. */
export type Difference = { files: ChangedFile[]; patch: string; isCut: boolean };

export type UndoPreview = { runs: Run[]; to: RunId | null; files: ChangedFile[] | null };

/** One worktree of this environment's making. `isWhole` false: it holds more files than were counted. */
export type WorktreeUse = { threadId: ThreadId; path: string; bytes: number; isWhole: boolean };

export type WorkspaceFinding = { state: "note" | "wrong"; text: string; hint: string };

/** What there is in the repositories of this environment's projects, and what is not as it should be. */
export type WorkspaceReport = { worktrees: WorktreeUse[]; checkpoints: number; repositories: number; findings: WorkspaceFinding[] };

/** Where in a repository a text is that is to be purged. What is not ours is named, and never touched. */
export type RepositoryFinding = {
  repository: string;
  threadId: ThreadId | null;
  what: "checkpoint" | "objects" | "file" | "commit";
  /** A ref, or a file. */
  name: string;
  count: number;
  isOurs: boolean;
};

/** The folders that threads work in (decision 0108). Nothing here throws for what the outside does. */
export interface Workspaces {
  /**
   * Keeps what the thread's folder holds, for the checkpoint of a run that has just completed; null at once where the folder
   * is in no repository. Bounded in time.
   */
  keep(threadId: ThreadId, runId: RunId): Promise<KeptState> | null;
  /** Lets go of what was kept for a run that got no checkpoint after all. */
  letGo(threadId: ThreadId, runId: RunId): Promise<void>;
  /** What deleting the thread's own worktree would lose; null: nothing. */
  unsaved(threadId: ThreadId): Promise<UnsavedWork | null>;
  inspect(): Promise<WorkspaceReport>;
  /** Finds a text in the repositories of this environment's projects. Changes nothing. */
  lookFor(needle: Needle): Promise<RepositoryFinding[]>;
  /** Takes it out of what is ours; `repoint` is told which commit stands for which. May be repeated after a crash. */
  purgeText(needle: Needle, repoint: (commits: ReadonlyMap<string, string>) => Promise<void>): Promise<void>;
  /** Takes what is kept of a deleted thread's files out of its repository, down to the objects. */
  purgeThread(threadId: ThreadId, after: number): Promise<void>;
  /**
   * How the files of a thread differ: of one of its runs, from the checkpoint before it to its own; without one, from what
   * its worktree began with (or, in a folder that is not its own, from what is checked out there) to what the folder holds
   * now. Throws Refused where nothing is known.
   */
  difference(threadId: ThreadId, runId: RunId | null, maxChars: number): Promise<Difference>;
  /**
   * What an undo would take back: runs, and what it would change in the thread's own worktree (null: it has none, and its
   * folder stays as it is). Throws Refused like the undo itself.
   */
  undoPreview(threadId: ThreadId, to: RunId | null | undefined): Promise<UndoPreview>;
  /** What was not committed when a checkpoint was made; null where nothing is known of its files. */
  uncommittedAt(checkpoint: Checkpoint, maxChars: number): Promise<Difference | null>;
}
