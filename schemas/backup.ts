import { z } from "zod";
import { EnvironmentId, ThreadId } from "./ids.ts";
import { Digest, Text, Timestamp } from "./text.ts";

/** What it is known by, whatever its folder is called. */
export const backupFormat = "ropewalk-backup";
/** Of the folder's layout; a newer one is refused. */
export const backupVersion = 1;

/** A path below a folder, with `/` between its parts: nothing that leads out of it. */
const PathBelow = Text.min(1).refine(
  (path) => !path.includes("\0") && !path.includes("\\") && path.split("/").every((part) => part !== "" && part !== "." && part !== ".."),
  { error: "not a path below the folder" },
);

/** A file of a backup: size in bytes and SHA-256 of its content. */
export const BackupFile = z.strictObject({ path: PathBelow, bytes: z.number().int().nonnegative(), sha256: Digest });
export type BackupFile = z.infer<typeof BackupFile>;

/** A ref that was kept, and the commit that it stood for. */
export const KeptRef = z.strictObject({ ref: Text.regex(/^refs\/ropewalk\/[A-Za-z0-9._/-]+$/), commit: Text.regex(/^[0-9a-f]{40,64}$/) });
export type KeptRef = z.infer<typeof KeptRef>;

/** What a backup has of one repository: checkpoints, and what the worktrees of threads held. */
export const BackedUpRepository = z.strictObject({
  /** Where it was. */
  path: Text,
  /** The git bundle below the backup; null where nothing was to be kept, or could not be. */
  bundle: PathBelow.nullable(),
  refs: z.array(KeptRef),
  /** Threads whose worktree is in it, as it was. */
  worktrees: z.array(ThreadId),
  /** Why it is not in the backup. */
  trouble: Text.nullable(),
});
export type BackedUpRepository = z.infer<typeof BackedUpRepository>;

/** `manifest.json` of a backup (decision 0112). */
export const BackupManifest = z.strictObject({
  format: z.literal(backupFormat),
  version: z.literal(backupVersion),
  environmentId: EnvironmentId,
  environmentName: Text,
  /** The folder of the environment that it was made of. */
  dir: Text,
  /** The newest commit that its store has. */
  commit: z.number().int().nonnegative(),
  createdAt: Timestamp,
  /** Version of the ropewalk that made it. */
  ropewalk: Text,
  files: z.array(BackupFile),
  repositories: z.array(BackedUpRepository),
  /** Files of the environment's folder that could not be read. */
  leftOut: z.array(Text),
  /** SHA-256 of the canonical JSON of all other members. */
  digest: Digest,
});
export type BackupManifest = z.infer<typeof BackupManifest>;

/** How far it is; `share` from 0 to 1 where it is known. */
export const BackupProgress = z.object({
  type: z.literal("progress"),
  step: z.enum(["store", "files", "repositories", "removing"]),
  about: Text,
  share: z.number().min(0).max(1).nullable(),
});
export type BackupProgress = z.infer<typeof BackupProgress>;

/** A backup that is there. */
export const BackupView = z.object({
  path: Text,
  createdAt: Timestamp,
  commit: z.number().int().nonnegative(),
  bytes: z.number().int().nonnegative(),
});
export type BackupView = z.infer<typeof BackupView>;

export const BackupMade = BackupView.extend({
  environmentId: EnvironmentId,
  files: z.number().int().nonnegative(),
  repositories: z.array(BackedUpRepository.omit({ refs: true }).extend({ refs: z.number().int().nonnegative() })),
  leftOut: z.array(Text),
  /** Older ones that `keep` removed. */
  removed: z.array(Text),
});
export type BackupMade = z.infer<typeof BackupMade>;

export const BackupRequest = z.strictObject({
  /** The folder that it is put into; without: `backups` in the environment's own. */
  to: Text.min(1).max(4_000).optional(),
  /** How many backups of this environment that folder keeps, this one included; without: all. */
  keep: z.number().int().min(1).max(10_000).optional(),
});
export type BackupRequest = z.infer<typeof BackupRequest>;

/** `restored.json` in the folder of an environment that was restored: what its first start is to settle. */
export const RestoredNote = z.strictObject({
  /** The folder of the environment that the backup was made of. */
  from: Text,
  backup: Text,
  restoredAt: Timestamp,
  /** Threads whose worktrees are to be filled again. */
  worktrees: z.array(ThreadId),
  isSettled: z.boolean(),
});
export type RestoredNote = z.infer<typeof RestoredNote>;

export const RestoredRepository = z.object({
  path: Text,
  /** `gone`: there is no repository at its path any more; `partly`: some of its refs could not be made. */
  state: z.enum(["restored", "gone", "partly", "failed"]),
  refs: z.number().int().nonnegative(),
  note: Text.nullable(),
});
export type RestoredRepository = z.infer<typeof RestoredRepository>;

/** What a restore has made. */
export const Restored = z.object({
  dir: Text,
  environmentId: EnvironmentId,
  environmentName: Text,
  commit: z.number().int().nonnegative(),
  createdAt: Timestamp,
  repositories: z.array(RestoredRepository),
  /** Threads whose own worktrees the first start fills again. */
  worktrees: z.number().int().nonnegative(),
  /** The folder of the original, when it is still there. */
  original: Text.nullable(),
});
export type Restored = z.infer<typeof Restored>;
