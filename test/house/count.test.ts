import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";

const program = fileURLToPath(new URL("../../.ci/count.mjs", import.meta.url));
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ropewalk-count-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function count(steps: string[], reports: Record<string, object>): { last: string | undefined; code: number | null } {
  writeFileSync(join(folder, "steps"), `${steps.join("\n")}\n`);
  for (const [name, report] of Object.entries(reports)) writeFileSync(join(folder, `${name}.json`), JSON.stringify(report));
  const { stdout, status } = spawnSync(process.execPath, [program, folder], { encoding: "utf8" });
  return { last: stdout.trimEnd().split("\n").at(-1), code: status };
}

const report = (passed: number, failed: number, testResults: object[] = []) => ({
  numPassedTests: passed,
  numFailedTests: failed,
  numPendingTests: 1,
  numTodoTests: 0,
  testResults,
});

test("the last line adds up all suites", () => {
  const counted = count(["install 0 9", "default 0 60", "crash 0 30"], { default: report(40, 0), crash: report(2, 0) });
  expect(counted).toEqual({ last: "42 passed, 0 failed", code: 0 });
});

test("a failed test fails the whole, once", () => {
  expect(count(["default 1 60"], { default: report(40, 2) })).toEqual({ last: "40 passed, 2 failed", code: 1 });
});

test("a test file that could not be loaded counts as a failure", () => {
  const unloaded = [{ status: "failed", assertionResults: [] }];
  expect(count(["default 1 60"], { default: report(40, 0, unloaded) })).toEqual({ last: "40 passed, 1 failed", code: 1 });
});

test("a step that failed without a test, or before its report, counts as a failure", () => {
  expect(count(["check 1 5", "default 0 60", "crash 124 1200"], { default: report(40, 0) })).toEqual({
    last: "40 passed, 2 failed",
    code: 1,
  });
});

test("a run of no test at all is not a success", () => {
  expect(count(["install 0 9"], {})).toEqual({ last: "0 passed, 1 failed", code: 1 });
});
