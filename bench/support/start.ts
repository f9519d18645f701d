import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";

/** Until the first page was read, milliseconds; resident memory then, or after all pages. */
export type Started = { ms: number; rssMB: number };

/** Opens an environment in a fresh process, which ends again. */
export function start(dir: string, how: "first" | "all" = "first"): Promise<Started> {
  return new Promise((resolve, reject) => {
    const child = fork(fileURLToPath(new URL("start-process.ts", import.meta.url)), [dir, how], { execArgv: [] });
    let said: Started | null = null;
    child.on("message", (message) => {
      said = message as Started;
    });
    child.on("exit", (code) => (said === null ? reject(new Error(`the process ended with ${code} and said nothing`)) : resolve(said)));
  });
}
