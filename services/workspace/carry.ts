import { constants } from "node:fs";
import { cp, lstat, mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { entries, git } from "./git.ts";

const carryMs = 300_000;

/**
 * Copies ignored files from one folder of a repository into a worktree, as the project's configuration names them (git's
 * patterns, from the top of the folder). What git does not ignore is never copied this way, and nothing is overwritten.
 */
export async function carryIgnored(from: string, to: string, patterns: readonly string[]): Promise<void> {
  if (patterns.length === 0) return;
  const pathspecs = patterns.map((pattern) => `:(top,glob)${pattern.replace(/\/$/, "/**")}`);
  const answer = await git(from, ["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--", ...pathspecs], {
    timeoutMs: carryMs,
  });
  for (const entry of entries(answer)) {
    const path = entry.toString("utf8");
    const [source, target] = [join(from, path), join(to, path)];
    const found = await lstat(source).catch(() => null);
    if (found === null || !(found.isFile() || found.isSymbolicLink())) continue;
    await mkdir(dirname(target), { recursive: true });
    await cp(source, target, {
      force: false,
      errorOnExist: false,
      verbatimSymlinks: true,
      mode: constants.COPYFILE_FICLONE,
      preserveTimestamps: true,
    });
  }
}
