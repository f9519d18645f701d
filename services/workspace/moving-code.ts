import type { MovingCode } from "../runtime/ports/moving-code.ts";
import { git } from "./git.ts";
import { candidatesOf, packCode } from "./pack.ts";
import { isWorktree, type Setting } from "./setting.ts";
import { settleCode, unpackCode } from "./unpack.ts";

/** The port's real driver: the `git` program. */
export function movingCode(setting: Setting): MovingCode {
  return {
    candidates: (threadId) => candidatesOf(setting, threadId).catch(() => []),
    async known(projectId, commits) {
      const repository = setting.store.project(projectId)?.path ?? "";
      if (!isWorktree(repository) || commits.length === 0) return [];
      const input = Buffer.from(commits.map((name) => `${name}\n`).join(""));
      const answer = await git(repository, ["cat-file", "--batch-check=%(objecttype) %(objectname)"], { input }).catch(() =>
        Buffer.alloc(0),
      );
      const found = answer.toString("utf8").split("\n");
      return found.flatMap((line) => (line.startsWith("commit ") ? [line.slice("commit ".length)] : []));
    },
    pack: (...asked) => packCode(setting, ...asked),
    unpack: (arriving) => unpackCode(setting, arriving),
    settle: (arrived) => settleCode(setting, arrived),
  };
}
