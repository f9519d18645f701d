import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { BackedUpRepository, BackupMade, BackupManifest, BackupProgress, BackupRequest } from "../../schemas/backup.ts";
import { backupFormat, backupVersion } from "../../schemas/backup.ts";
import type { EnvironmentId } from "../../schemas/ids.ts";
import type { Project } from "../../schemas/project.ts";
import type { AppThread } from "../../schemas/thread.ts";
import type { Clock } from "../runtime/ports/clock.ts";
import { refuse } from "../runtime/refused.ts";
import { packageVersion } from "../runtime/version.ts";
import { syncFolder } from "../runtime/whole-file.ts";
import { copyFiles, filesOf } from "./contents.ts";
import { measureSynced } from "./files.ts";
import { manifestIn, storeName, viewOf, writeManifest } from "./manifest.ts";
import { forgetPlaces, rememberPlace, unfinishedName } from "./places.ts";

/** What a backup is made with; the composition root hands it in. */
export type BackupParts = {
  dir: string;
  environmentId: EnvironmentId;
  environmentName: string;
  clock: Clock;
  copyStore(to: string, onProgress: (share: number) => void): Promise<void>;
  readStore(path: string): { commit: number; projects: Project[]; threads: AppThread[] };
  /** The repositories of these projects, each once, with the threads' own worktrees in each; bundles go into `folder`. */
  bundle(projects: Project[], threads: AppThread[], folder: string, onStep: (about: string, share: number) => void): Promise<Bundled[]>;
};
export type Bundled = Omit<BackedUpRepository, "bundle"> & { bundle: string | null };

export type MakeOptions = BackupRequest & { onProgress?: (news: BackupProgress) => void };

/** In a folder that is not a whole backup yet, or not any more: whose it is. */
const markName = ".unfinished";
const bundlesFolder = "refs";

/**
 * Makes a backup: everything under a name of its own that no finished one has, then, when all of it is on the disk, renamed.
 * What an earlier one that was broken off has left is removed first. Throws Refused, StoreFailure and what the system says.
 */
export async function makeBackup(parts: BackupParts, { to, keep, onProgress = () => {} }: MakeOptions): Promise<BackupMade> {
  const parent = prepared(to ?? join(parts.dir, "backups"));
  clearUnfinished(parent, parts.environmentId);
  const createdAt = parts.clock.now();
  const path = freeName(parent, `${slugOf(parts.environmentName)}-${stampOf(createdAt)}`);
  const unfinished = unfinishedName(path);
  const step = (step: BackupProgress["step"], about: string, share: number | null) =>
    onProgress({ type: "progress", step, about, share: share === null ? null : Math.min(1, Math.max(0, share)) });
  mkdirSync(unfinished, { mode: 0o700 });
  try {
    writeFileSync(join(unfinished, markName), parts.environmentId, { mode: 0o600 });
    rememberPlace(parts.dir, path);
    step("store", "the store", 0);
    const store = join(unfinished, storeName);
    await parts.copyStore(store, (share) => step("store", "the store", share));
    const { commit, projects, threads } = parts.readStore(store);
    // After the store: what a peer has taken meanwhile may be gone from here, but nothing that the store needs is missing.
    const { files, leftOut } = await filesOf(parts.dir, parent);
    const copied = await copyFiles(parts.dir, files, unfinished, (done) => step("files", "files", done / files.length));
    mkdirSync(join(unfinished, bundlesFolder), { mode: 0o700 });
    const repositories = await parts.bundle(projects, threads, join(unfinished, bundlesFolder), (about, share) =>
      step("repositories", about, share),
    );
    const bundles = repositories.flatMap(({ bundle }) => (bundle === null ? [] : [`${bundlesFolder}/${bundle}`]));
    const measured = [storeName, ...bundles].map(async (file) => ({ path: file, ...(await measureSynced(join(unfinished, file))) }));
    const manifest = writeManifest(unfinished, {
      format: backupFormat,
      version: backupVersion,
      environmentId: parts.environmentId,
      environmentName: parts.environmentName,
      dir: parts.dir,
      commit,
      createdAt,
      ropewalk: packageVersion(),
      files: [...(await Promise.all(measured)), ...copied.copied],
      repositories: repositories.map((r) => ({ ...r, bundle: r.bundle === null ? null : `${bundlesFolder}/${r.bundle}` })),
      leftOut: [...leftOut, ...copied.leftOut],
    });
    for (const folder of foldersOf(manifest)) syncFolder(join(unfinished, folder));
    rmSync(join(unfinished, markName));
    renameSync(unfinished, path);
    syncFolder(parent);
    const removed = keep === undefined ? [] : removeOldest(parts, parent, keep, (about) => step("removing", about, null));
    return made(path, manifest, removed);
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true });
    forgetPlaces(parts.dir, [path]);
    throw error;
  }
}

const foldersOf = ({ files }: BackupManifest): Set<string> => new Set([".", ...files.map(({ path }) => dirname(path))]);

function made(path: string, manifest: BackupManifest, removed: string[]): BackupMade {
  const { environmentId, leftOut, files } = manifest;
  const repositories = manifest.repositories.map((r) => ({ ...r, refs: r.refs.length }));
  return { ...viewOf(path, manifest), environmentId, files: files.length, repositories, leftOut, removed };
}

/** This environment's own backups in a folder, the oldest first. */
function ownBackups(parent: string, environmentId: EnvironmentId): { path: string; manifest: BackupManifest }[] {
  return readdirSync(parent, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith("."))
    .flatMap(({ name }) => {
      const manifest = manifestIn(join(parent, name));
      return manifest?.environmentId === environmentId ? [{ path: join(parent, name), manifest }] : [];
    })
    .sort((a, b) => a.manifest.createdAt - b.manifest.createdAt || (a.path < b.path ? -1 : 1));
}

/** Removes the oldest of this environment's own beyond `keep`; nothing else in that folder is touched. */
function removeOldest(
  { dir, environmentId }: Pick<BackupParts, "dir" | "environmentId">,
  parent: string,
  keep: number,
  onRemove: (path: string) => void = () => {},
): string[] {
  const own = ownBackups(parent, environmentId);
  const removed = own.slice(0, Math.max(0, own.length - keep)).map(({ path }) => path);
  for (const path of removed) {
    onRemove(path);
    // In one step: what is half removed is nobody's backup.
    writeFileSync(join(path, markName), environmentId, { mode: 0o600 });
    const unfinished = unfinishedName(path);
    renameSync(path, unfinished);
    rmSync(unfinished, { recursive: true, force: true });
  }
  forgetPlaces(dir, removed);
  return removed;
}

/** What was broken off, of this environment's alone: nobody but it makes any, and one at a time. */
function clearUnfinished(parent: string, environmentId: EnvironmentId): void {
  for (const { name } of readdirSync(parent, { withFileTypes: true }).filter((e) => e.isDirectory() && /^\..+\.part$/.test(e.name))) {
    const folder = join(parent, name);
    try {
      if (readFileSync(join(folder, markName), "utf8") === environmentId) rmSync(folder, { recursive: true, force: true });
    } catch {
      // Not ours, or not to be told: it stays.
    }
  }
}

function prepared(to: string): string {
  try {
    mkdirSync(to, { recursive: true, mode: 0o700 });
    return realpathSync(to);
  } catch (error) {
    return refuse(
      "invalid_request",
      "backup_unwritable",
      `no backup can be put into ${to}: ${(error as Error).message}`,
      "Name a folder that can be written.",
    );
  }
}

function freeName(parent: string, name: string): string {
  for (let n = 1; ; n += 1) {
    const path = join(parent, n === 1 ? name : `${name}-${n}`);
    if (!existsSync(path) && !existsSync(unfinishedName(path))) return path;
  }
}

const slugOf = (name: string): string =>
  name
    .replace(/[^A-Za-z0-9._-]+/g, "-")
    .replace(/^[.-]+|-+$/g, "")
    .slice(0, 60) || "environment";
/** `20261130T214512Z`. */
const stampOf = (at: number): string => new Date(at).toISOString().replace(/[-:]|\.\d+/g, "");
