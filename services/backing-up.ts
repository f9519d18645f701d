import { existsSync } from "node:fs";
import { basename, join, relative } from "node:path";
import type { BackupMade, Restored } from "../schemas/backup.ts";
import type { Command, Receipt } from "../schemas/command.ts";
import type { EnvironmentId } from "../schemas/ids.ts";
import type { Project } from "../schemas/project.ts";
import { refusal } from "../schemas/refusal.ts";
import type { RetentionConfig } from "../schemas/retention.ts";
import type { AppThread } from "../schemas/thread.ts";
import { type BackupParts, type Bundled, type MakeOptions, makeBackup } from "./backup/make.ts";
import { manifestIn, viewOf } from "./backup/manifest.ts";
import { backupPlaces } from "./backup/places.ts";
import { type RestoreOptions, restoreBackup } from "./backup/restore.ts";
import { noteSettled, unsettledRestore } from "./backup/settle.ts";
import { refuseSecondTwin } from "./backup/twins.ts";
import { loadOrCreateConfig } from "./runtime/config-file.ts";
import { CommandRefused } from "./runtime/environment-api.ts";
import type { Backups } from "./runtime/ports/backups.ts";
import type { Clock } from "./runtime/ports/clock.ts";
import { StoreFailure } from "./runtime/ports/store.ts";
import { Refused } from "./runtime/refused.ts";
import { systemClock } from "./runtime/system-clock.ts";
import { isHeld, readCopy, withStoppedStore } from "./store/copy.ts";
import type { SqliteStore } from "./store/sqlite-store.ts";
import { type Bundling, bringRefsBack, bundleRefs, repositoryOf } from "./workspace/bundle.ts";
import { isWorktree, workspaceSetting } from "./workspace/setting.ts";

/** Backups of an environment that runs; `ended` resolves when none is being made any more. */
export function backupsOf(
  store: SqliteStore,
  setting: Bundling,
  about: Pick<BackupParts, "environmentId" | "environmentName" | "clock">,
  retention: RetentionConfig | undefined,
): Backups & { ended(): Promise<void> } {
  const { folder: dir } = store;
  let running: Promise<unknown> | null = null;
  const parts: BackupParts = {
    ...about,
    dir,
    copyStore: (to, onProgress) => store.copyTo(to, onProgress),
    readStore: readCopy,
    bundle: (...asked) => bundleAll(setting, dir, ...asked),
  };
  return {
    async make(options = {}) {
      if (running !== null) throw new CommandRefused(oneAtATime);
      const making = told(() => makeBackup(parts, keptBy(retention, options)));
      running = making.catch(() => undefined);
      return making.finally(() => {
        running = null;
      });
    },
    list: () =>
      backupPlaces(dir).flatMap((path) => {
        const manifest = manifestIn(path);
        return manifest === null || basename(path).startsWith(".") ? [] : [viewOf(path, manifest)];
      }),
    async ended() {
      await running;
    },
  };
}

/** A backup of an environment that does not run, and cannot start until it is made. Throws CommandRefused. */
export async function backUpStopped(dir: string, options: MakeOptions = {}): Promise<BackupMade> {
  if (!existsSync(join(dir, "ropewalk.db"))) throw new CommandRefused(nothingThere(dir));
  return told(() =>
    withStoppedStore(dir, (copyStore, folder) => {
      const loaded = loadOrCreateConfig(folder);
      if (!loaded.ok) throw new CommandRefused(loaded.refusal);
      const { id: environmentId, name: environmentName } = loaded.config.environment;
      const setting = workspaceSetting({ dir: folder, environmentId, store: null as never, clock: systemClock });
      const bundle: BackupParts["bundle"] = (...asked) => bundleAll(setting, folder, ...asked);
      return makeBackup(
        { dir: folder, environmentId, environmentName, clock: systemClock, copyStore, readStore: readCopy, bundle },
        keptBy(loaded.config.retention, options),
      );
    }),
  );
}

/** What nobody said is as configured. */
function keptBy(retention: RetentionConfig | undefined, options: MakeOptions): MakeOptions {
  const kept = options.keep ?? retention?.backupsKept;
  return kept === undefined ? options : { ...options, keep: kept };
}

/** Makes the folder of an environment anew from a backup (decision 0112). Throws CommandRefused. */
export function restoreFrom(from: string, options: RestoreOptions & { clock?: Clock }): Promise<Restored> {
  const { clock = systemClock, ...given } = options;
  return told(() => restoreBackup({ clock, isHeld, readStore: readCopy, bringRefsBack, isRepository: isWorktree }, from, given));
}

/** Before anything else of an environment starts: nobody else has its identity, and what it has is where its folder is now. */
export async function settleIdentity(
  dir: string,
  environmentId: EnvironmentId,
  report: (command: Command) => Promise<Receipt>,
): Promise<void> {
  await told(async () => refuseSecondTwin(dir, environmentId, isHeld));
  const note = unsettledRestore(dir);
  if (note === null) return;
  const receipt = await report({ type: "environment.relocated", from: note.from, to: dir, worktrees: note.worktrees });
  if (!receipt.ok) throw new CommandRefused(receipt.refusal);
  noteSettled(dir, note);
}

async function bundleAll(
  setting: Bundling,
  dir: string,
  projects: Project[],
  threads: AppThread[],
  folder: string,
  onStep: (about: string, share: number) => void,
): Promise<Bundled[]> {
  const root = join(dir, "worktrees");
  const repositories = new Map<string, Project[]>();
  for (const project of projects) {
    const repository = await repositoryOf(project.path);
    if (repository !== null) repositories.set(repository, [...(repositories.get(repository) ?? []), project]);
  }
  const bundled: Bundled[] = [];
  for (const [at, group] of [...repositories.values()].entries()) {
    const path = (group[0] as Project).path;
    onStep(path, at / repositories.size);
    const worktrees = threads.flatMap(({ id, projectId, workspace }) => {
      const place = workspace.strategy === "worktree" ? workspace.path : null;
      const isOurs = place !== null && !relative(root, place).startsWith("..") && group.some((p) => p.id === projectId);
      return isOurs ? [{ threadId: id, path: place }] : [];
    });
    const name = `${at + 1}.bundle`;
    try {
      const { isWritten, ...kept } = await bundleRefs(setting, path, worktrees, join(folder, name));
      bundled.push({ path, bundle: isWritten ? name : null, ...kept, trouble: null });
    } catch (error) {
      bundled.push({ path, bundle: null, refs: [], worktrees: [], trouble: error instanceof Error ? error.message : String(error) });
    }
  }
  return bundled;
}

/** What goes wrong here as the refusal that it is. */
async function told<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Refused) throw new CommandRefused(error.refusal);
    if (error instanceof StoreFailure) throw new CommandRefused(refusal("orchestration_error", error.reason, error.message, error.hint));
    const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
    if (code === "ENOSPC" || code === "EDQUOT")
      throw new CommandRefused(refusal("orchestration_error", "disk_full", (error as Error).message, "Free some space, then try again."));
    if (code === "EACCES" || code === "EPERM" || code === "EROFS")
      throw new CommandRefused(
        refusal("orchestration_error", "store_unwritable", (error as Error).message, "Check the folder's owner and rights."),
      );
    throw error;
  }
}

const oneAtATime = refusal("orchestration_error", "backup_running", "a backup is being made already", "Wait until it is done.");
const nothingThere = (dir: string) =>
  refusal("invalid_request", "no_environment", `there is no environment in ${dir}`, "Name its folder with --dir.");
