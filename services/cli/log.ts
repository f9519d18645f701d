import { pino } from "pino";
import type { EnvironmentLog } from "../environment.ts";
import { clean, styleError } from "./terminal.ts";

/** One JSON object a line, appended to a file of its owner. Written at once, so that a crash loses nothing of it. */
export function openLog(file: string): EnvironmentLog {
  return pino(
    { level: process.env.ROPEWALK_LOG_LEVEL ?? "info", base: { pid: process.pid } },
    pino.destination({ dest: file, append: true, mode: 0o600, sync: true }),
  );
}

/** What happens, in words on standard error: trouble only, or all of it. */
export function wordLog(verbose: boolean): EnvironmentLog {
  const say = (facts: object, text: string) =>
    process.stderr.write(`${clean(text)}${verbose ? ` ${styleError("dim", JSON.stringify(facts))}` : ""}\n`);
  const loud = (facts: object, text: string) => void say(facts, `${styleError("yellow", "warning:")} ${text}`);
  const silent = () => {};
  return { debug: silent, info: verbose ? say : silent, warn: loud };
}
