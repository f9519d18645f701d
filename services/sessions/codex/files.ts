import { basename, dirname, join, resolve, sep } from "node:path";
import { walk } from "../walk.ts";

const uuid = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
const name = new RegExp(`^rollout-.*?(${uuid})(?:_(${uuid}))?\\.jsonl(?:\\.zst)?$`);

/** Where a CODEX_HOME has rollouts; threads that were archived are moved to the second. */
export const rolloutFolders: readonly string[] = ["sessions", "archived_sessions"];

/** What a rollout file's name says: the thread that it is of, and its own id, by which other files refer to it. */
export type RolloutName = { path: string; threadId: string; fileId: string };

function rolloutName(path: string): RolloutName | null {
  const [, threadId, segment] = name.exec(basename(path)) ?? [];
  return threadId === undefined ? null : { path, threadId, fileId: segment ?? threadId };
}

/** The rollout files below a folder, by name. */
export class RolloutFiles {
  readonly #byId = new Map<string, RolloutName>();
  readonly #newestOf = new Map<string, RolloutName>();

  constructor(paths: Iterable<string>) {
    for (const path of paths) {
      const named = rolloutName(path);
      if (named === null) continue;
      this.#byId.set(named.fileId, named);
      const newest = this.#newestOf.get(named.threadId);
      // Ids are ordered by the time of their making: a thread that went back goes on in a later file.
      if (newest === undefined || named.fileId > newest.fileId) this.#newestOf.set(named.threadId, named);
    }
  }

  /** Those that a rollout may refer to: what is in the same CODEX_HOME, else in its own folder. */
  static async around(path: string): Promise<RolloutFiles> {
    const own = dirname(resolve(path));
    const parts = own.split(sep);
    const at = parts.findLastIndex((part) => rolloutFolders.includes(part));
    const folders = at === -1 ? [own] : rolloutFolders.map((name) => join(parts.slice(0, at).join(sep) || sep, name));
    const walked = await Promise.all(folders.map((folder) => walk(folder, isRollout)));
    return new RolloutFiles([...walked.flatMap(({ files }) => files.map((file) => file.path)), path]);
  }

  withId(fileId: string): string | null {
    return this.#byId.get(fileId)?.path ?? null;
  }

  /** The file in which a thread goes on. */
  newest(threadId: string): string | null {
    return this.#newestOf.get(threadId)?.path ?? null;
  }

  /** One file for each thread. */
  heads(): string[] {
    return [...this.#newestOf.values()].map((named) => named.path);
  }
}

export const isRollout = (path: string): boolean => name.test(basename(path));
