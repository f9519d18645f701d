import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, renameSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { BackedUpRepository, BackupManifest, KeptRef, Restored, RestoredNote, RestoredRepository } from "../../schemas/backup.ts";
import { EnvironmentConfig } from "../../schemas/config.ts";
import type { ThreadId } from "../../schemas/ids.ts";
import type { Clock } from "../runtime/ports/clock.ts";
import { refuse } from "../runtime/refused.ts";
import { syncFolder, writeWhole } from "../runtime/whole-file.ts";
import { filesFolder } from "./contents.ts";
import { copyMeasured, measure } from "./files.ts";
import { damaged, readManifest, storeName } from "./manifest.ts";
import { noteTwin } from "./twins.ts";

export type RestoreParts = {
  clock: Clock;
  isHeld(dir: string): boolean;
  /** Throws StoreFailure for a store that this ropewalk cannot read. */
  readStore(path: string): { commit: number };
  /** Answers the refs that could not be made. Throws when none could. */
  bringRefsBack(repository: string, bundle: string | null, refs: readonly KeptRef[]): Promise<KeptRef[]>;
  isRepository(path: string): boolean;
};

export type RestoreOptions = {
  into: string;
  /** Also when the environment that it was made of is still in its folder. */
  beside?: boolean;
  onProgress?: (about: string, share: number) => void;
};

export const noteName = "restored.json";
const markName = ".unfinished-restore";

/**
 * Makes an environment's folder of a backup: everything is looked at before anything is written, then written under another
 * name and renamed. Throws Refused: what `readManifest` refuses, `backup_damaged`, `folder_not_empty`, `original_is_there`;
 * and StoreFailure, and what the system says.
 */
export async function restoreBackup(parts: RestoreParts, from: string, options: RestoreOptions): Promise<Restored> {
  const { beside = false, onProgress = () => {} } = options;
  const backup = resolve(from);
  const manifest = readManifest(backup);
  const into = needEmpty(resolve(options.into));
  const original = originalOf(manifest, into);
  if (original !== null && (!beside || parts.isHeld(original))) refuseTwin(original, parts.isHeld(original));
  await verify(backup, manifest, (share) => onProgress("looking at the backup", share));
  parts.readStore(join(backup, storeName));

  const unfinished = join(dirname(into), `.${basename(into)}.restoring`);
  clearUnfinished(unfinished);
  mkdirSync(unfinished, { mode: 0o700 });
  try {
    writeFileSync(join(unfinished, markName), "");
    await copyAll(backup, unfinished, manifest, (share) => onProgress("copying", share));
    const { repositories, worktrees } = await bringAllBack(parts, backup, manifest, (path) => onProgress(path, 0));
    const note: RestoredNote = { from: manifest.dir, backup, restoredAt: parts.clock.now(), worktrees, isSettled: false };
    writeWhole(join(unfinished, noteName), `${JSON.stringify(note, null, 1)}\n`);
    if (original !== null) {
      noteTwin(unfinished, original);
      noteTwin(original, into);
    }
    rmSync(join(unfinished, markName));
    if (existsSync(into)) rmdirSync(into);
    renameSync(unfinished, into);
    syncFolder(dirname(into));
    const { environmentId, environmentName, commit, createdAt } = manifest;
    return {
      dir: into,
      environmentId,
      environmentName,
      commit,
      createdAt,
      repositories,
      worktrees: worktrees.length,
      original,
    };
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true });
    throw error;
  }
}

/** Every file is there, plain, and what it was. */
async function verify(backup: string, { files }: BackupManifest, onProgress: (share: number) => void): Promise<void> {
  const paths = new Set(files.map(({ path }) => path));
  if (paths.size !== files.length || !paths.has(storeName)) damaged(backup, "its manifest does not name each of its files once");
  for (const [at, { path, bytes, sha256 }] of files.entries()) {
    onProgress(at / files.length);
    const found = await measure(join(backup, path)).catch((error: NodeJS.ErrnoException) =>
      damaged(backup, `${path} cannot be read (${error.code ?? error.message})`),
    );
    if (found.bytes !== bytes || found.sha256 !== sha256) damaged(backup, `${path} is not what was written`);
  }
}

async function copyAll(backup: string, to: string, { files }: BackupManifest, onProgress: (share: number) => void): Promise<void> {
  const wanted = files.filter(({ path }) => path === storeName || path.startsWith(`${filesFolder}/`));
  for (const [at, { path, sha256 }] of wanted.entries()) {
    onProgress(at / wanted.length);
    const target = path === storeName ? storeName : path.slice(filesFolder.length + 1);
    const written = await copyMeasured(join(backup, path), join(to, target));
    if (written.sha256 !== sha256) damaged(backup, `${path} was changed while it was read`);
  }
}

async function bringAllBack(
  parts: RestoreParts,
  backup: string,
  { repositories }: BackupManifest,
  onStep: (path: string) => void,
): Promise<{ repositories: RestoredRepository[]; worktrees: ThreadId[] }> {
  const told: RestoredRepository[] = [];
  const worktrees: ThreadId[] = [];
  for (const repository of repositories) {
    onStep(repository.path);
    const { state, missing, note } = await bringBack(parts, backup, repository);
    const isMissing = (threadId: ThreadId) =>
      missing.some(({ ref }) => ref.includes(`/${threadId.slice(threadId.lastIndexOf(":") + 1)}/backup`));
    if (state === "restored" || state === "partly") worktrees.push(...repository.worktrees.filter((id) => !isMissing(id)));
    told.push({ path: repository.path, state, refs: repository.refs.length - missing.length, note });
  }
  return { repositories: told, worktrees };
}

async function bringBack(
  parts: RestoreParts,
  backup: string,
  { path, bundle, refs, trouble }: BackedUpRepository,
): Promise<{ state: RestoredRepository["state"]; missing: readonly KeptRef[]; note: string | null }> {
  if (trouble !== null) return { state: "failed", missing: refs, note: `it is not in the backup: ${trouble}` };
  if (!parts.isRepository(path)) return { state: "gone", missing: refs, note: "there is no repository any more" };
  try {
    const missing = await parts.bringRefsBack(path, bundle === null ? null : join(backup, bundle), refs);
    if (missing.length === 0) return { state: "restored", missing, note: null };
    return { state: "partly", missing, note: `${missing.length} of its refs stand for commits that are not there any more` };
  } catch (error) {
    return { state: "failed", missing: refs, note: error instanceof Error ? error.message : String(error) };
  }
}

/** The folder's path when it is empty or not there; its parent is made. */
function needEmpty(into: string): string {
  const content = existsSync(into) ? readdirSync(into) : [];
  if (content.length > 0)
    refuse(
      "invalid_request",
      "folder_not_empty",
      `${into} is not empty`,
      "Name an empty folder, or one that is not there yet, with --into; what is in it is never written over.",
    );
  mkdirSync(dirname(into), { recursive: true, mode: 0o700 });
  return join(realpathSync(dirname(into)), basename(into));
}

/** Where the environment that the backup was made of still is; null when it is gone, or another. */
function originalOf({ dir, environmentId }: BackupManifest, into: string): string | null {
  if (dir === into) return null;
  try {
    const config = EnvironmentConfig.parse(JSON.parse(readFileSync(join(dir, "config.json"), "utf8")));
    return config.environment.id === environmentId && existsSync(join(dir, storeName)) ? dir : null;
  } catch {
    return null;
  }
}

function refuseTwin(original: string, isRunning: boolean): never {
  return refuse(
    "invalid_request",
    isRunning ? "original_is_running" : "original_is_there",
    `the environment that this is a backup of is ${isRunning ? "running" : "still there"}: ${original}`,
    `Two environments with one identity would take each other's messages and checkpoints. ${
      isRunning
        ? `Stop it (ropewalk --dir ${original} down), then move its folder away.`
        : "Move that folder away; or say --beside, and only one of the two can run at a time."
    }`,
  );
}

/** What a restore that was broken off has left under the name that is used here. */
function clearUnfinished(folder: string): void {
  if (!existsSync(folder)) return;
  if (!existsSync(join(folder, markName)))
    refuse(
      "invalid_request",
      "folder_in_the_way",
      `${folder} is in the way, and not ours`,
      "Move it away, or choose another folder with --into.",
    );
  rmSync(folder, { recursive: true, force: true });
}
