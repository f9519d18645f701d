import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isAlive } from "./processes.ts";

/**
 * Processes of Claude Code that have a session open, by what each of them writes down below `sessions/` of its configuration
 * folder. Claude refuses no second writer, and two of them part a session without a word: whoever opens one looks here first.
 */
export function writersOf(configDir: string, sessionId: string): number[] {
  const folder = join(configDir, "sessions");
  return names(folder).flatMap((name) => {
    const entry = /^\d+\.json$/.test(name) ? read(join(folder, name)) : null;
    if (entry === null || entry.sessionId !== sessionId || entry.pid === undefined) return [];
    return isAlive(entry.pid) && isSameProcess(entry.pid, entry.procStart) ? [entry.pid] : [];
  });
}

type Entry = { pid?: number; sessionId?: string; procStart?: string };

function read(path: string): Entry | null {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as Entry;
  } catch {
    // Half written, or gone meanwhile.
    return null;
  }
}

/** Another process may have got the number since. Linux tells when each was started. */
function isSameProcess(pid: number, procStart: string | undefined): boolean {
  if (procStart === undefined || process.platform !== "linux") return true;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] === procStart;
  } catch {
    return false;
  }
}

function names(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
