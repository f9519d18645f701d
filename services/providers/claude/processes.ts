import { readdir, readFile } from "node:fs/promises";

/** Set in the environment of every agent, and so of every process that it starts; its value is another for each of them. */
export const markName = "ROPEWALK_AGENT";

/**
 * Processes that an agent left: those whose environment has its mark. Told from Linux's own records; elsewhere it cannot be
 * asked, and the answer is none.
 */
async function markedProcesses(mark: string): Promise<number[]> {
  if (process.platform !== "linux") return [];
  const pids = (await readdir("/proc")).filter((entry) => /^\d+$/.test(entry));
  const wanted = Buffer.from(`${markName}=${mark}\0`);
  const found = await Promise.all(
    // Not ours to read, or gone meanwhile.
    pids.map((pid) =>
      readFile(`/proc/${pid}/environ`).then(
        (env) => (env.includes(wanted) ? [Number(pid)] : []),
        () => [],
      ),
    ),
  );
  return found.flat().filter((pid) => pid !== process.pid);
}

const rounds = 50;
const pauseMs = 20;

/**
 * Ends what an agent left; tells whether nothing of it is there any more. In rounds, since what is being ended may have started
 * something in the meantime.
 */
export async function endMarked(mark: string): Promise<boolean> {
  for (let round = 0; round < rounds; round++) {
    const pids = await markedProcesses(mark);
    if (pids.length === 0) return true;
    for (const pid of pids) endProcess(pid, "SIGKILL");
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
  return false;
}

/** A negative `pid` means the group. */
export function endProcess(pid: number, signal: "SIGTERM" | "SIGKILL"): void {
  try {
    process.kill(pid, signal);
  } catch {
    // Gone already.
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
