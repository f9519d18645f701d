import { catalogue } from "./catalogue.ts";
import type { BenchResult } from "./figure.ts";
import { table } from "./table.ts";

/** One bench in a process of its own: `child.ts NAME [quick]`, started by `run.ts`, which is sent the result. */
const name = process.argv[2] ?? "";
const load = catalogue[name];
if (load === undefined) throw new Error(`there is no bench "${name}"`);
const began = performance.now();
const result: BenchResult = { name, figures: [], ms: 0 };
try {
  const bench = await load();
  result.figures = await bench({ quick: process.argv[3] === "quick" });
} catch (error) {
  result.error = error instanceof Error ? (error.stack ?? error.message) : String(error);
}
result.ms = performance.now() - began;
const code = result.error === undefined ? 0 : 1;
if (process.send !== undefined) process.send(result, () => process.exit(code));
else {
  // By hand, as for a profile: node --expose-gc --cpu-prof bench/child.ts NAME
  console.log(table([result]), result.error ?? "");
  process.exitCode = code;
}
