import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Adds up what the steps of .ci/run left in a folder: `steps` (name, exit code, seconds) and vitest's report of each suite.
 * A failed step without a failed test of its own (types, lint, a suite that did not come to its end) counts as one.
 */
const folder = process.argv[2] ?? ".ci/out";

function suite(name) {
  const report = JSON.parse(readFileSync(join(folder, `${name}.json`), "utf8"));
  // A file that could not be loaded has no tests; it is one failure all the same.
  const unloaded = report.testResults.filter(
    (file) => file.status === "failed" && !file.assertionResults.some((one) => one.status === "failed"),
  );
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests + unloaded.length,
    skipped: report.numPendingTests + report.numTodoTests,
  };
}

const suites = new Set(
  readdirSync(folder)
    .filter((name) => name.endsWith(".json"))
    .map((name) => name.slice(0, -5)),
);
const total = { passed: 0, failed: 0, skipped: 0 };
const steps = readFileSync(join(folder, "steps"), "utf8")
  .trim()
  .split("\n")
  .map((line) => line.split(" "));
for (const [name, code, seconds] of steps) {
  const found = suites.has(name) ? suite(name) : { passed: 0, failed: 0, skipped: 0 };
  if (code !== "0" && found.failed === 0) found.failed = 1;
  for (const key of Object.keys(total)) total[key] += found[key];
  const counts = suites.has(name) ? `, ${found.passed} passed, ${found.failed} failed, ${found.skipped} skipped` : "";
  console.log(`${code === "0" ? "ok    " : "FAILED"} ${name}: ${seconds} s${counts}`);
}
if (total.passed === 0 && total.failed === 0) total.failed = 1;
console.log(`${total.passed} passed, ${total.failed} failed`);
process.exitCode = total.failed === 0 ? 0 : 1;
