import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync, realpathSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { z } from "zod";
import { EnvironmentConfig } from "../schemas/config.ts";
import { EnvironmentId } from "../schemas/ids.ts";
import { refusal } from "../schemas/refusal.ts";
import { CommandRefused } from "./runtime/environment-api.ts";
import { StoreFailure } from "./runtime/ports/store.ts";
import { readCopy } from "./store/copy.ts";
import { FolderLock } from "./store/lock.ts";
import { type RepositoryTraces, removeRest, removeTraces, tracesIn, type WorktreeWork, workIn } from "./workspace/leave.ts";

/** What an environment has on this machine, and what would be lost with it. */
export type Belongings = {
  dir: string;
  environmentId: EnvironmentId;
  name: string;
  /** Threads that are not deleted; null: the store is gone, or cannot be read. */
  threads: number | null;
  repositories: RepositoryTraces[];
  /** Work in worktrees that is nowhere else. */
  work: WorktreeWork[];
  /** Files that agents of threads without a project wrote. */
  scratch: string[];
  links: { name: string; environmentId: EnvironmentId }[];
  /** Backups in the folder itself. */
  backups: string[];
  /** What is in the folder and not of ropewalk's making: it stays. */
  foreign: string[];
  /** Why the store could not be read. */
  trouble: string | null;
};

const ownFiles = [
  /^ropewalk\.db(-\w+)?$/,
  /^lock\.db(-\w+)?$/,
  /^openings(\.new)?$/,
  /^(config|clients|http-port|found-sessions|backups|twins|restored|uninstalling)\.json(\.new)?$/,
  /^ropewalk\.log(\.\d+|\.new)?$/,
  /^ropewalk\.sock$/,
];
const ownFolders = ["backups", "keys", "providers", "scratch", "worktrees"];
const isOwn = (name: string) => ownFolders.includes(name) || ownFiles.some((file) => file.test(name));
const maxNamed = 10_000;

/** Written before anything is removed: with it an uninstall that was broken off knows what there was. */
const Plan = z.strictObject({ environmentId: EnvironmentId, name: z.string(), projects: z.array(z.string()) });
const planFile = (dir: string) => join(dir, "uninstalling.json");

/** Looks at all of it, whether the environment runs or not. Null where there is none. Reads only. Throws CommandRefused. */
export async function belongingsOf(given: string): Promise<Belongings | null> {
  if (!existsSync(given)) return null;
  const dir = realpathSync(given);
  const config = configOf(dir);
  const plan = planOf(dir);
  const environmentId = plan?.environmentId ?? config?.environment.id;
  if (environmentId === undefined) return null;
  const { threads, projects, trouble } = storeOf(dir);
  const root = join(dir, "worktrees");
  return {
    dir,
    environmentId,
    name: plan?.name ?? config?.environment.name ?? "",
    threads,
    repositories: await inRepositories(() => tracesIn(environmentId, root, [...new Set([...projects, ...(plan?.projects ?? [])])])),
    work: await workIn(environmentId, root),
    scratch: filesBelow(join(dir, "scratch")),
    links: (config?.links ?? []).map(({ name, peer }) => ({ name, environmentId: peer.environmentId })),
    backups: existsSync(join(dir, "backups")) ? readdirSync(join(dir, "backups")).map((name) => join(dir, "backups", name)) : [],
    foreign: readdirSync(dir).filter((name) => !isOwn(name)),
    trouble,
  };
}

/**
 * Removes an environment that does not run: its worktrees and private refs from every repository, then its folder, but for
 * what is foreign in it. What was begun and broken off is ended by another call. Throws CommandRefused: `store_locked` when it
 * runs, `uncommitted_work` unless `discardWork`. Answers what is left.
 */
export async function removeBelongings(given: string, discardWork: boolean): Promise<{ left: string[] }> {
  const dir = realpathSync(given);
  const lock = locked(dir);
  try {
    // Once more, now that nobody else can change it.
    const all = await belongingsOf(dir);
    if (all === null) return { left: [] };
    if (!discardWork && (all.work.length > 0 || all.scratch.length > 0)) throw new CommandRefused(uncommitted(all));
    const { environmentId, name, repositories } = all;
    const projects = [...new Set([...storeOf(dir).projects, ...(planOf(dir)?.projects ?? [])])];
    writeFileSync(planFile(dir), JSON.stringify(Plan.parse({ environmentId, name, projects })), { mode: 0o600 });
    await inRepositories(async () => {
      for (const traces of repositories) await removeTraces(environmentId, traces);
      await removeRest(join(dir, "worktrees"));
    });
    removeSocket(dir);
    // The plan goes last of all: until then it can be done again.
    for (const entry of readdirSync(dir).filter((n) => isOwn(n) && join(dir, n) !== planFile(dir)))
      rmSync(join(dir, entry), { recursive: true, force: true });
  } finally {
    lock.release();
  }
  for (const name of readdirSync(dir).filter((n) => /^lock\.db/.test(n))) rmSync(join(dir, name), { force: true });
  rmSync(planFile(dir), { force: true });
  const left = readdirSync(dir).map((name) => join(dir, name));
  if (left.length === 0) rmdirSync(dir);
  return { left };
}

function locked(dir: string): FolderLock {
  try {
    return new FolderLock(dir);
  } catch (error) {
    throw told(error);
  }
}

export function uncommitted({ work, scratch }: Pick<Belongings, "work" | "scratch">) {
  const places = [...work.map(({ path }) => path), ...(scratch.length > 0 ? ["scratch"] : [])];
  return refusal(
    "orchestration_error",
    "uncommitted_work",
    `work that is nowhere else would be lost, in ${places.slice(0, 5).join(", ")}${places.length > 5 ? ` and ${places.length - 5} more` : ""}`,
    "Commit it on a branch or copy it away (scratch: what agents without a project wrote), or say --discard-work.",
    { work, scratch: scratch.slice(0, 100) },
  );
}

function storeOf(dir: string): { threads: number | null; projects: string[]; trouble: string | null } {
  const path = join(dir, "ropewalk.db");
  if (!existsSync(path)) return { threads: null, projects: [], trouble: null };
  // What merely reading leaves beside a store that was closed well.
  const leavings = [`${path}-wal`, `${path}-shm`].filter((file) => !existsSync(file));
  try {
    const { threads, projects } = readCopy(path);
    return { threads: threads.length, projects: projects.map((p) => p.path), trouble: null };
  } catch (error) {
    return { threads: null, projects: [], trouble: error instanceof Error ? error.message : String(error) };
  } finally {
    if (leavings.length === 2)
      for (const file of leavings) if (existsSync(file) && lstatSync(file).size === 0) rmSync(file, { force: true });
  }
}

async function inRepositories<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const message = `a repository cannot be changed: ${error instanceof Error ? error.message : String(error)}`;
    throw new CommandRefused(
      refusal("orchestration_error", "repository_unreachable", message, "See what git says there, then uninstall again."),
    );
  }
}

function told(error: unknown): unknown {
  if (!(error instanceof StoreFailure)) return error;
  return new CommandRefused(refusal("orchestration_error", error.reason, error.message, error.hint));
}

/** Where the folder's path is too long for a socket, it is elsewhere. */
function removeSocket(dir: string): void {
  const link = join(dir, "ropewalk.sock");
  if (!lstatSync(link, { throwIfNoEntry: false })?.isSymbolicLink()) return;
  const socket = resolve(dir, readlinkSync(link));
  if (!/^ropewalk-[0-9a-f]{16}\.sock$/.test(basename(socket))) return;
  if (lstatSync(socket, { throwIfNoEntry: false })?.isSocket()) rmSync(socket);
  if (!basename(dirname(socket)).startsWith("ropewalk-")) return;
  try {
    rmdirSync(dirname(socket));
  } catch {
    // Another environment's is there too.
  }
}

function configOf(dir: string): EnvironmentConfig | null {
  try {
    return EnvironmentConfig.parse(JSON.parse(readFileSync(join(dir, "config.json"), "utf8")));
  } catch {
    return null;
  }
}

function planOf(dir: string): z.infer<typeof Plan> | null {
  try {
    return Plan.parse(JSON.parse(readFileSync(planFile(dir), "utf8")));
  } catch {
    return null;
  }
}

function filesBelow(folder: string): string[] {
  if (!existsSync(folder)) return [];
  const entries = readdirSync(folder, { withFileTypes: true, recursive: true });
  return entries
    .filter((entry) => !entry.isDirectory())
    .slice(0, maxNamed)
    .map((entry) => join(entry.parentPath, entry.name));
}
