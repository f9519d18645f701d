import type { EnvironmentLog } from "../environment.ts";
import { clean, styleError } from "./terminal.ts";

/** What happens, in words on standard error: trouble only, or all of it. */
export function wordLog(verbose: boolean): EnvironmentLog {
  const say = (facts: object, text: string) =>
    process.stderr.write(`${clean(text)}${verbose ? ` ${styleError("dim", JSON.stringify(facts))}` : ""}\n`);
  const loud = (facts: object, text: string) => void say(facts, `${styleError("yellow", "warning:")} ${text}`);
  const silent = () => {};
  return { debug: silent, info: verbose ? say : silent, warn: loud };
}
