import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { publint } from "publint";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findNatsServer } from "../../services/links/nats/server-binary.ts";
import { npm, pack } from "../support/packed.ts";

/** The package as somebody gets it: packed, installed into an empty folder beside its own Node, used. */
const needed = 24;
const minutes = 60_000;

let work: string;
let home: string;
let packed: string[];
let tarball: string;

beforeAll(() => {
  work = realpathSync(mkdtempSync(join(tmpdir(), "ropewalk-pack-")));
  ({ tarball, files: packed } = pack(work));
  home = join(work, "home");
  mkdirSync(home);
  writeFileSync(join(home, "package.json"), JSON.stringify({ name: "consumer", private: true, type: "module" }));
  npm(home, "install", "--no-audit", "--no-fund", "--prefer-offline", tarball, `node@${needed}`);
}, 5 * minutes);
afterAll(() => rmSync(work, { recursive: true, force: true }), minutes);

function consumerRuns(program: string): string {
  writeFileSync(join(home, "program.js"), program);
  return execFileSync(join(home, "node_modules", ".bin", "node"), ["program.js"], { cwd: home, encoding: "utf8" });
}

test("the package carries the built program and what people read, and no source, test or bench", () => {
  expect(packed).toEqual(
    expect.arrayContaining([
      "LICENSE",
      "bin/ropewalk.js",
      "dist/index.js",
      "dist/index.d.ts",
      "dist/services/cli/main.js",
      "docs/schemas/transfer.json",
    ]),
  );
  expect(packed.filter((path) => path.endsWith(".ts") && !path.endsWith(".d.ts"))).toEqual([]);
  expect(packed.filter((path) => /^(test|bench|deploy|schemas|actors|services|\.)/.test(path))).toEqual([]);
});

test("npx ropewalk --version says the package's version", () => {
  const { version } = JSON.parse(
    execFileSync("node", ["-p", "JSON.stringify(require('ropewalk/package.json'))"], { cwd: home, encoding: "utf8" }),
  );
  expect(npm(home, "exec", "--", "ropewalk", "--version").trim()).toBe(version);
});

test("every door can be imported", () => {
  const doors = ["ropewalk", "ropewalk/schemas", "ropewalk/actors", "ropewalk/client"];
  const names = JSON.parse(
    consumerRuns(`
    const doors = await Promise.all(${JSON.stringify(doors)}.map((door) => import(door)));
    console.log(JSON.stringify(doors.map((door) => Object.keys(door))));
  `),
  );
  expect(names[1]).toContain("ContextTransfer");
  expect(names[2]).toContain("transferMachine");
  expect(names[3]).toEqual([
    ...["EnvironmentRefused", "EnvironmentUnreachable", "applyEnvironmentPatch", "applyThreadPatch", "connect", "connectLocal"],
    ...["withOlderThreads", "withOlderTurns"],
  ]);
});

test("what is exported is what Node and bundlers look for, by the rules that packages are held to", async () => {
  const { messages } = await publint({ pkgDir: join(home, "node_modules", "ropewalk"), level: "suggestion", strict: true, pack: false });
  expect(messages).toEqual([]);
});

test("the types of every door are found by every way of resolving that knows ESM", () => {
  // CommonJS reaches the doors by `import()` alone, and the oldest way of resolving knows no doors.
  const program = join(dirname(createRequire(import.meta.url).resolve("@arethetypeswrong/cli/package.json")), "dist", "index.js");
  const told = spawnSync(process.execPath, [program, tarball, "--profile", "esm-only", "--format", "json"], {
    cwd: home,
    encoding: "utf8",
  });
  expect(told.stderr).toBe("");
  const { analysis } = JSON.parse(told.stdout) as { analysis: { entrypoints: object } };
  expect(Object.keys(analysis.entrypoints).sort()).toEqual([".", "./actors", "./client", "./package.json", "./schemas"]);
  expect(told.status).toBe(0);
});

test("nothing behind the doors can be imported", () => {
  const code = consumerRuns(
    `console.log(await import("ropewalk/dist/services/runtime/version.js").then(() => "imported", (error) => error.code));`,
  );
  expect(code.trim()).toBe("ERR_PACKAGE_PATH_NOT_EXPORTED");
});

test("the types of every door arrive at a user of TypeScript", () => {
  const compilerOptions = { module: "nodenext", target: "es2024", strict: true, noEmit: true, types: [], skipLibCheck: true };
  writeFileSync(join(home, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["consumer.ts"] }));
  writeFileSync(
    join(home, "consumer.ts"),
    `import type { Receipt } from "ropewalk";
import { connect } from "ropewalk/client";
import { transferMachine } from "ropewalk/actors";
import { RunStatus } from "ropewalk/schemas";
export const ended: RunStatus = RunStatus.parse("completed");
export const commit = (receipt: Receipt): number => (receipt.ok ? receipt.commit : 0);
export const id: string = transferMachine.id;
const client = connect("http://localhost", { token: "x" });
export const thread: Promise<string> = client.command({ type: "thread.create" }).then(({ result }) => result.threadId);
// @ts-expect-error another command answers that
export const run: Promise<string> = client.command({ type: "thread.create" }).then(({ result }) => result.runId);
// @ts-expect-error a run has no such status
export const wrong: RunStatus = "finished";
// @ts-expect-error a machine is no text
export const machine: string = transferMachine;
`,
  );
  const compiled = spawnSync(fileURLToPath(new URL("../../node_modules/.bin/tsc", import.meta.url)), ["-p", "."], {
    cwd: home,
    encoding: "utf8",
  });
  expect(`${compiled.stdout}${compiled.stderr}`).toBe("");
  expect(compiled.status).toBe(0);
});

/** The installed demo as a user runs it; `broker` is where a nats-server may be found. */
function demo(broker: Record<string, string>) {
  const PATH = [join(home, "node_modules", ".bin"), process.env.PATH].join(delimiter);
  const env = { PATH, HOME: work, TMPDIR: work, ...broker };
  return spawnSync("npx", ["--no-install", "ropewalk", "demo", "--json"], { cwd: home, encoding: "utf8", env });
}

test("with a nats-server the installed demo tells the whole story and every step of it holds", { timeout: 2 * minutes }, async () => {
  const found = await findNatsServer();
  expect(found, "a nats-server is needed: npm run nats").not.toBeNull();
  const told = demo({ NATS_SERVER_BIN: found?.bin ?? "" });
  expect(told.status, told.stderr).toBe(0);
  const { ok, steps } = JSON.parse(told.stdout) as { ok: boolean; steps: { id: string; ok: boolean }[] };
  expect(ok).toBe(true);
  expect(steps.length).toBeGreaterThan(8);
  expect(steps.filter((step) => !step.ok)).toEqual([]);
});

/** A Node below 24 of this machine, if it has one besides ours. */
const older = (process.env.PATH ?? "")
  .split(delimiter)
  .map((folder) => join(folder, "node"))
  .find((bin) => {
    const major = existsSync(bin) ? spawnSync(bin, ["-p", "parseInt(process.versions.node)"], { encoding: "utf8" }).stdout : "";
    return major !== "" && Number(major) < needed;
  });

test.skipIf(older === undefined)("on an older Node the command says the one line that works, and ends with 2", () => {
  const launcher = join(home, "node_modules", "ropewalk", "bin", "ropewalk.js");
  const told = spawnSync(older ?? "", [launcher, "new", "--json"], { cwd: home, encoding: "utf8", env: { PATH: dirname(older ?? "") } });
  expect(told.stdout).toBe("");
  expect(told.stderr).toMatch(
    /^ropewalk needs Node 24 or newer, this is v[\d.]+; run: npm i ropewalk node@24 && npx ropewalk new --json\n$/,
  );
  expect(told.status).toBe(2);
});

test("the launcher is written in words that a very old Node reads, and has no static import", () => {
  const launcher = readFileSync(join(home, "node_modules", "ropewalk", "bin", "ropewalk.js"), "utf8");
  expect(launcher).not.toMatch(/=>|`|\?\.|\?\?|\b(const|let|class|async|await)\b|^import[^(]/m);
});
