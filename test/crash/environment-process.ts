import { appendFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { createEnvironment } from "../../services/environment.ts";
import { serveLocal } from "../../services/http/server.ts";

/**
 * An environment as a process that ends itself, or a process beside it, without a warning, at a boundary that it was told:
 *
 *     node environment-process.ts --dir DIR [--record FILE] [--at NAME --nth N --mark FILE [--victim PID]]
 *
 * `--record` appends the name of every boundary that is passed. With `--at` the N-th time that a boundary of that name is
 * reached, FILE is written and the victim (without one: this process) gets SIGKILL.
 */
const { values } = parseArgs({
  options: {
    dir: { type: "string" },
    record: { type: "string" },
    at: { type: "string" },
    nth: { type: "string" },
    mark: { type: "string" },
    victim: { type: "string" },
  },
});
const { dir, record, at, mark } = values;
if (dir === undefined) throw new Error("--dir is missing");
const nth = Number(values.nth ?? 1);
const victim = values.victim === undefined ? process.pid : Number(values.victim);

let seen = 0;
function onBoundary(name: string): void {
  if (record !== undefined) appendFileSync(record, `${name}\n`);
  if (name !== at) return;
  seen += 1;
  if (seen !== nth) return;
  if (mark !== undefined) writeFileSync(mark, "");
  process.kill(victim, "SIGKILL");
}

const environment = await createEnvironment({ dir, onBoundary });
const server = await serveLocal(environment);
process.once("SIGTERM", () => {
  void server
    .close()
    .then(() => environment.close())
    .then(() => process.exit(0));
});
