import { mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { type GitCall, gitText } from "./git.ts";

/** How git is called so that what it writes goes with a folder of ours. */
export type PassingCall = Pick<GitCall, "env">;

/**
 * Lets git see all that a repository has, and write what it makes of it below `own`, which the caller removes. A mere look
 * at a folder must leave nothing in the user's repository: no ref would lead there, so nobody could tell later whose it is.
 * Throws GitFailure.
 */
export async function passingObjects(folder: string, own: string): Promise<PassingCall> {
  const objects = resolve(own, "objects");
  // Where the objects are that all worktrees share; what that folder borrows itself, git finds from there.
  const lent = await gitText(folder, ["rev-parse", "--path-format=absolute", "--git-path", "objects"]);
  await mkdir(join(objects, "info"), { recursive: true });
  // A file, not the variable: there is no sign in a path that would end it.
  await writeFile(join(objects, "info", "alternates"), `${quoted(lent)}\n`);
  return { env: { GIT_OBJECT_DIRECTORY: objects } };
}

/** As git reads a name in quotes. */
const quoted = (path: string): string => `"${path.replace(/["\\]/g, "\\$&").replaceAll("\n", "\\n")}"`;
