import { appendFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { createEnvironment } from "../../services/environment.ts";
import { serveEnvironment } from "../../services/serving.ts";
import { BoundaryCounter } from "./boundary.ts";

/**
 * An environment as a process that ends itself, or another process, without a warning, at a boundary that it was told:
 *
 *     node environment-process.ts --dir DIR [--record FILE] [--moment M --event E --nth N --mark FILE [--victim PID]]
 *
 * `--record` appends the name of every boundary that is passed. With `--event` the N-th time that it is in a boundary of
 * that moment (`*`: any boundary at all), FILE is written and the victim (without one: this process) gets SIGKILL.
 */
const { values } = parseArgs({
  options: {
    dir: { type: "string" },
    record: { type: "string" },
    moment: { type: "string" },
    event: { type: "string" },
    nth: { type: "string" },
    mark: { type: "string" },
    victim: { type: "string" },
  },
});
const { dir, record, moment, event, mark } = values;
if (dir === undefined) throw new Error("--dir is missing");
const nth = Number(values.nth ?? 1);
const victim = Number(values.victim ?? process.pid);

const counter = new BoundaryCounter();
let passed = 0;
function onBoundary(name: string): void {
  if (record !== undefined) appendFileSync(record, `${name}\n`);
  passed += 1;
  const reached =
    event === "*" ? passed === nth : counter.count(name).some((p) => p.moment === moment && p.event === event && p.nth === nth);
  if (!reached) return;
  if (mark !== undefined) writeFileSync(mark, name);
  process.kill(victim, "SIGKILL");
}

const environment = await createEnvironment({ dir, onBoundary });
const server = await serveEnvironment(environment);
process.once("SIGTERM", async () => {
  await server.close();
  await environment.close();
  process.exit(0);
});
