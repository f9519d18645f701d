import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * Builds `dist/`, which is what the package carries: Node strips no types under `node_modules` (decision 3). An old
 * `dist/` goes first, so that no file of a module that is gone is published.
 */
const root = fileURLToPath(new URL("../../", import.meta.url));
const dist = join(root, "dist");

/** A path in a string is not rewritten by the compiler: `new URL("./worker.ts", …)` would name a file that dist lacks. */
function namesSource(file: string): boolean {
  return /new URL\(\s*["'`][^"'`]*\.ts["'`]/.test(readFileSync(file, "utf8"));
}

function build(): number {
  rmSync(dist, { recursive: true, force: true });
  const compiler = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin", "tsc");
  const compiled = spawnSync(process.execPath, [compiler, "-p", join(root, "tsconfig.build.json")], { cwd: root, stdio: ["ignore", 2, 2] });
  if (compiled.status !== 0) return 1;
  const wrong = readdirSync(dist, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".js"))
    .map((name) => join(dist, name))
    .filter(namesSource);
  for (const file of wrong) {
    console.error(`${relative(root, file)} names a .ts file by its URL; write \`./name\${import.meta.url.slice(-3)}\` instead`);
  }
  return wrong.length === 0 ? 0 : 1;
}

process.exitCode = build();
