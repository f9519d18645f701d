import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Runs git as a person without any configuration of their own. Throws when it fails. */
export function git(cwd: string, ...args: string[]): string {
  const settings = ["user.name=Test", "user.email=test@example.org", "init.defaultBranch=main", "commit.gpgsign=false"];
  const config = settings.flatMap((setting) => ["-c", setting]);
  const env = { PATH: process.env.PATH ?? "", HOME: cwd, GIT_CONFIG_NOSYSTEM: "1" };
  return execFileSync("git", [...config, ...args], { cwd, stdio: "pipe", env, encoding: "utf8" });
}

/** A repository with one commit. */
export function makeRepository(folder: string): void {
  mkdirSync(folder);
  git(folder, "init");
  writeFileSync(join(folder, "rope.txt"), folder);
  git(folder, "add", ".");
  git(folder, "commit", "-m", "first");
}
