import { pino } from "pino";
import type { EnvironmentLog } from "../environment.ts";

/** One JSON object a line, appended to a file of its owner. Written at once, so that a crash loses nothing of it. */
export function openLog(file: string): EnvironmentLog {
  return pino(
    { level: process.env.ROPEWALK_LOG_LEVEL ?? "info", base: { pid: process.pid } },
    pino.destination({ dest: file, append: true, mode: 0o600, sync: true }),
  );
}
