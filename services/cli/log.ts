import { pino } from "pino";
import type { EnvironmentLog } from "../environment.ts";
import { RotatingFile, type RotationBounds, usualBounds } from "./rotating-file.ts";

export type FileLog = EnvironmentLog & {
  /** To be called by the process that has the environment's folder: from then on the file is kept within its bounds. */
  bound(bounds?: { [Name in keyof RotationBounds]?: number | undefined } | undefined): void;
};

/** One JSON object a line, appended to a file of its owner. Written at once, so that a crash loses nothing of it. */
export function openLog(path: string): FileLog {
  const file = new RotatingFile(path);
  const log = pino({ level: process.env.ROPEWALK_LOG_LEVEL ?? "info", base: { pid: process.pid } }, file);
  return {
    debug: (facts, text) => log.debug(facts, text),
    info: (facts, text) => log.info(facts, text),
    warn: (facts, text) => log.warn(facts, text),
    bound: ({ maxBytes = usualBounds.maxBytes, keep = usualBounds.keep } = {}) => file.bound({ maxBytes, keep }),
  };
}
