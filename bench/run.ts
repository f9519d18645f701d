import { fork } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus, loadavg, totalmem } from "node:os";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { catalogue } from "./catalogue.ts";
import type { BenchResult } from "./figure.ts";
import { table } from "./table.ts";

/** `npm run bench -- [--only NAME]... [--quick] [--json FILE] [--list]`. Exits with 1 when a bench failed, not when a mark was missed. */
const { values } = parseArgs({
  options: {
    only: { type: "string", multiple: true },
    json: { type: "string" },
    quick: { type: "boolean", default: false },
    list: { type: "boolean", default: false },
  },
});

/** A bench that has not ended by then is ended. */
const boundMs = 10 * 60_000;

const names = Object.keys(catalogue);
if (values.list) {
  console.log(names.join("\n"));
  process.exit(0);
}
const unknown = values.only?.filter((o) => !names.some((n) => n.startsWith(o))) ?? [];
if (unknown.length > 0) {
  console.error(`there is no bench "${unknown.join(", ")}"; there are: ${names.join(", ")}`);
  process.exit(2);
}

const chosen = names.filter((n) => values.only === undefined || values.only.some((o) => n.startsWith(o)));
const machine = {
  cpu: cpus()[0]?.model ?? "",
  cores: availableParallelism(),
  memoryMB: Math.round(totalmem() / 2 ** 20),
  node: process.version,
  platform: `${process.platform}-${process.arch}`,
};
const results: BenchResult[] = [];
const loads: number[] = [];
for (const name of chosen) {
  loads.push(loadavg()[0] ?? 0);
  console.error(`${name} ...`);
  results.push(await run(name));
}
loads.push(loadavg()[0] ?? 0);

const file = values.json ?? fileURLToPath(new URL("results/latest.json", import.meta.url));
mkdirSync(dirname(file), { recursive: true });
writeFileSync(file, `${JSON.stringify({ at: new Date().toISOString(), quick: values.quick, machine, loads, results }, null, 2)}\n`);
console.log(table(results));
const marks = results.flatMap((r) => r.figures.flatMap((f) => f.mark ?? []));
console.log(
  `\n${marks.filter((m) => m.met).length} of ${marks.length} marks met; ${machine.cores} cores (${machine.cpu}), Node ${machine.node}; ` +
    `load average ${Math.min(...loads).toFixed(1)} to ${Math.max(...loads).toFixed(1)}${values.quick ? "; quick: the figures mean little" : ""}`,
);
process.exitCode = results.some((r) => r.error !== undefined) ? 1 : 0;

function run(name: string): Promise<BenchResult> {
  const began = performance.now();
  return new Promise((resolve) => {
    const child = fork(fileURLToPath(new URL("child.ts", import.meta.url)), [name, ...(values.quick ? ["quick"] : [])], {
      execArgv: ["--expose-gc"],
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    let result: BenchResult | null = null;
    const bound = setTimeout(() => child.kill("SIGKILL"), boundMs);
    child.on("message", (message) => {
      result = message as BenchResult;
      if (result.error !== undefined) console.error(result.error);
    });
    child.on("exit", (code, signal) => {
      clearTimeout(bound);
      const ended = `it ended with ${signal ?? code} and said nothing`;
      resolve(result ?? { name, figures: [], ms: performance.now() - began, error: ended });
    });
  });
}
