import { execFileSync } from "node:child_process";
import { cpSync, existsSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** npm on whatever Node the machine has: it is a user's tool, not ours. Without what the outer npm put into the environment. */
export function npm(cwd: string, ...args: string[]): string {
  const env = Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^(npm_(?!config_(registry|cache|userconfig|globalconfig)$)|NODE_ENV$|VITEST)/i.test(name),
    ),
  );
  return execFileSync("npm", args, { cwd, env, encoding: "utf8", timeout: 240_000, stdio: ["ignore", "pipe", "pipe"] });
}

/** The package as it would be published: its file in `work`, and what is in it. Of a copy of the tree, so that no other test meets a half-built `dist/`. */
export function pack(work: string): { tarball: string; files: string[] } {
  const clone = join(work, "clone");
  const known = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], { cwd: root, encoding: "utf8" });
  for (const name of known.split("\0").filter((name) => name !== "" && existsSync(join(root, name))))
    cpSync(join(root, name), join(clone, name));
  symlinkSync(join(root, "node_modules"), join(clone, "node_modules"));
  const [report] = JSON.parse(npm(clone, "pack", "--json", "--silent", "--pack-destination", work));
  return { tarball: join(work, report.filename), files: report.files.map((file: { path: string }) => file.path) };
}
