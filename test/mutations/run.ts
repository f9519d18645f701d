import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { importMutations } from "./import.ts";
import { mcpMutations } from "./mcp.ts";
import type { Mutation } from "./mutation.ts";

/**
 * Takes guarantees out of a copy of the sources, one at a time, and looks whether the tests notice. Ends with 1 where one
 * does not, where a named test does not pass without any mutation, or where the text to replace is not there exactly once.
 * `node test/mutations/run.ts [word …]` takes those whose description has one of the words.
 */
const project = fileURLToPath(new URL("../../", import.meta.url));
const words = process.argv.slice(2);
const mutations = [...importMutations, ...mcpMutations].filter(
  ({ takenOut }) => words.length === 0 || words.some((word) => takenOut.includes(word)),
);

const copy = mkdtempSync(join(tmpdir(), "ropewalk-mutations-"));
try {
  process.exitCode = main() ? 0 : 1;
} finally {
  rmSync(copy, { recursive: true, force: true, maxRetries: 5 });
}

function main(): boolean {
  copySources();
  const everyone = new Map(mutations.flatMap(({ noticedBy }) => noticedBy).map((one) => [`${one.file}\n${one.title}`, one]));
  const clean = failing([...everyone.values()]);
  for (const { file, title, why } of clean) console.error(`without any mutation, this does not pass: ${file}: ${title} (${why})`);
  if (clean.length > 0 || mutations.length === 0) return false;
  const unnoticed = mutations.filter((mutation) => !isNoticed(mutation));
  console.log(`${mutations.length - unnoticed.length} of ${mutations.length} mutations were noticed`);
  return unnoticed.length === 0;
}

function isNoticed({ takenOut, file, find, replace, noticedBy }: Mutation): boolean {
  const began = performance.now();
  const source = readFileSync(join(copy, file), "utf8");
  if (source.split(find).length !== 2) {
    console.error(`${takenOut}: the text to replace is not in ${file} exactly once`);
    return false;
  }
  writeFileSync(
    join(copy, file),
    source.replace(find, () => replace),
  );
  const noticed = failing(noticedBy).filter(({ why }) => why === "failed");
  writeFileSync(join(copy, file), source);
  const silent = noticedBy.filter(({ title }) => !noticed.some((one) => one.title === title));
  for (const { file: where, title } of silent) console.error(`${takenOut}: not noticed by ${where}: ${title}`);
  if (silent.length === 0)
    console.log(`${takenOut}: noticed by ${noticed.length} test(s), ${((performance.now() - began) / 1_000).toFixed(1)} s`);
  return silent.length === 0;
}

type Failing = { file: string; title: string; why: "failed" | "did not run" };

/** Which of these tests do not pass in the copy as it is now. */
function failing(tests: Mutation["noticedBy"]): Failing[] {
  const report = join(copy, "report.json");
  rmSync(report, { force: true });
  const files = [...new Set(tests.map(({ file }) => file))];
  const pattern = tests.map(({ title }) => `${escaped(title)}$`).join("|");
  const args = ["vitest", "run", ...files, "--testNamePattern", pattern, "--reporter=json", `--outputFile=${report}`];
  const { NODE_OPTIONS: _, VITEST: __, ...env } = process.env;
  spawnSync("npx", ["--no", ...args], { cwd: copy, env: { ...env, CI: "" }, timeout: 300_000, stdio: "ignore" });
  const results = resultsOf(report);
  return tests.flatMap(({ file, title }) => {
    const status = results.find((one) => one.title === title)?.status;
    if (status === "passed") return [];
    return [{ file, title, why: status === "failed" ? ("failed" as const) : ("did not run" as const) }];
  });
}

function resultsOf(report: string): { title: string; status: string }[] {
  try {
    const { testResults } = JSON.parse(readFileSync(report, "utf8"));
    return testResults.flatMap((file: { assertionResults: { title: string; status: string }[] }) => file.assertionResults);
  } catch {
    return [];
  }
}

/** What git knows of, or would; with what is installed. */
function copySources(): void {
  const { stdout } = spawnSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], { cwd: project, encoding: "utf8" });
  for (const file of stdout.split("\0")) {
    if (file === "") continue;
    mkdirSync(dirname(join(copy, file)), { recursive: true });
    // One that was deleted and not yet committed so is not there.
    try {
      cpSync(join(project, file), join(copy, file));
    } catch {}
  }
  mkdirSync(join(project, ".cache"), { recursive: true });
  for (const folder of ["node_modules", ".cache"]) symlinkSync(join(project, folder), join(copy, folder));
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}
