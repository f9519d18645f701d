import { z } from "zod";
import { ProjectId } from "./ids.ts";
import { Text, Timestamp, Title } from "./text.ts";

/** How two environments recognise the same project (contract §2): never by path or name alone. */
export const RepositoryIdentity = z.union([
  z.object({ kind: z.literal("origin"), value: z.string().min(1) }),
  z.object({ kind: z.literal("root_commit"), value: z.string().regex(/^[0-9a-f]{40,64}$/) }),
]);
export type RepositoryIdentity = z.infer<typeof RepositoryIdentity>;

/** A pattern of git for files below the project's folder. */
const Pattern = Text.min(1)
  .max(500)
  .refine((pattern) => !pattern.startsWith("/") && !pattern.split("/").includes(".."), "a pattern stays below the project's folder");

/** How worktrees of a project are made (decision 0108). */
export const WorktreeSettings = z.object({
  /** Runs in each new worktree, by the shell, before its thread's first run; null: nothing does. */
  setup: Text.min(1).max(4_000).nullable(),
  /** Ignored files that each new worktree is given, by git's patterns, as `.env` or `config/*.local`. */
  carry: z.array(Pattern).max(100),
});
export type WorktreeSettings = z.infer<typeof WorktreeSettings>;

/** A folder known to an environment. `repository` is null where the folder is in none. */
export const Project = z.object({
  id: ProjectId,
  name: Title.min(1),
  /** Real path of the folder; for a repository its top level. */
  path: Text,
  repository: RepositoryIdentity.nullable(),
  /** Absent until somebody has said something. */
  worktrees: WorktreeSettings.optional(),
  createdAt: Timestamp,
});
export type Project = z.infer<typeof Project>;
