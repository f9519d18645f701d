import { existsSync } from "node:fs";
import { join } from "node:path";
import type { EnvironmentId, ThreadId } from "../../schemas/ids.ts";
import { folderName } from "../runtime/folders.ts";
import type { Clock } from "../runtime/ports/clock.ts";
import type { Store } from "../runtime/ports/store.ts";
import { Refs } from "./refs.ts";

/** Where an environment keeps worktrees, and how it is named in repositories. */
export type Setting = {
  store: Store;
  clock: Clock;
  refs: Refs;
  /** Folder of all worktrees. */
  root: string;
  /** For copies of an index. */
  scratch: string;
  /** Told of each step that is done, so that tests can end the process there. */
  step(name: string): void;
  /** Runs `work` when nothing else of ours changes this repository. */
  alone<T>(repository: string, work: () => Promise<T>): Promise<T>;
};

export function workspaceSetting(o: {
  dir: string;
  environmentId: EnvironmentId;
  store: Store;
  clock: Clock;
  onBoundary?: ((name: string) => void) | undefined;
}): Setting {
  const root = join(o.dir, "worktrees");
  const turns = new Map<string, Promise<unknown>>();
  return {
    store: o.store,
    clock: o.clock,
    refs: new Refs(o.environmentId),
    root,
    scratch: join(root, ".tmp"),
    step: (name) => o.onBoundary?.(`after step ${name}`),
    alone(repository, work) {
      const mine = (turns.get(repository) ?? Promise.resolve()).then(work, work);
      const over = mine.catch(() => {});
      turns.set(repository, over);
      void over.then(() => {
        if (turns.get(repository) === over) turns.delete(repository);
      });
      return mine;
    },
  };
}

export const worktreePath = (setting: Pick<Setting, "root">, threadId: ThreadId): string => join(setting.root, folderName(threadId));

/** True for the top of a worktree of a repository, the main one or another: what git calls a worktree has `.git` in it. */
export const isWorktree = (folder: string): boolean => folder !== "" && existsSync(join(folder, ".git"));
