import { join } from "node:path";
import type { EnvironmentId, RunId, ThreadId } from "../../schemas/ids.ts";
import { folderName } from "../runtime/folders.ts";
import { git, gitText } from "./git.ts";
import { unlocking } from "./locks.ts";

/**
 * The private refs of an environment in a repository: `refs/ropewalk/<environment>/<thread>/<run>`, and `…/base` for what a
 * thread's worktree was made from. Two environments never touch each other's.
 */
export class Refs {
  readonly root: string;

  constructor(environmentId: EnvironmentId) {
    this.root = `refs/ropewalk/${plain(environmentId)}`;
  }

  ofRun(threadId: ThreadId, runId: RunId): string {
    return `${this.root}/${folderName(threadId)}/${plain(runId)}`;
  }

  baseOf(threadId: ThreadId): string {
    return `${this.root}/${folderName(threadId)}/base`;
  }

  /** What a thread's folder held, by its name: `base`, the uuid of a run, or what an undo kept. */
  named(threadId: ThreadId, of: string): string {
    return `${this.root}/${folderName(threadId)}/${of}`;
  }

  /** Every ref of the environment, or of one thread, with what it points to. */
  async list(repository: string, threadId?: ThreadId): Promise<PrivateRef[]> {
    const under = threadId === undefined ? this.root : `${this.root}/${folderName(threadId)}`;
    const answer = await gitText(repository, ["for-each-ref", "--format=%(objectname) %(refname)", `${under}/`]);
    return answer.split("\n").flatMap((line) => {
      const [commit, ref] = line.split(" ");
      const [thread, of] = ref?.slice(this.root.length + 1).split("/") ?? [];
      return commit && ref && thread && of ? [{ ref, commit, thread, of }] : [];
    });
  }
}

/** `thread` is the name of {@link folderName}; `of` the uuid of a run, or `base`. */
export type PrivateRef = { ref: string; commit: string; thread: string; of: string };

const plain = (id: string): string => id.slice(id.indexOf(":") + 1);

export async function setRef(repository: string, ref: string, commit: string): Promise<void> {
  const common = await gitText(repository, ["rev-parse", "--path-format=absolute", "--git-common-dir"]);
  await unlocking([join(common, `${ref}.lock`)], () => git(repository, ["update-ref", "--no-deref", ref, commit]));
}

/** All of them, or none. */
export async function dropRefs(repository: string, refs: readonly string[]): Promise<void> {
  if (refs.length === 0) return;
  const input = Buffer.from(refs.map((ref) => `delete ${ref}\n`).join(""));
  await git(repository, ["update-ref", "--no-deref", "--stdin"], { input });
}
