import { writeSync } from "node:fs";
import { openLog } from "../../services/cli/log.ts";

/** A process that fills a log: `FILE BOUND KEEP LINES`. Says each number on standard output once its line is written; `0`: until it is killed. */
const [file = "", bound = "", keep = "", lines = ""] = process.argv.slice(2);
const log = openLog(file);
log.bound({ maxBytes: Number(bound), keep: Number(keep) });
const last = Number(lines) === 0 ? 10_000_000 : Number(lines);
for (let n = 1; n <= last; n += 1) {
  log.info({ n, pad: "x".repeat(n % 200) }, "line");
  writeSync(1, `${n}\n`);
}
