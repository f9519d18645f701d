import { readFileSync } from "node:fs";

const patienceMs = 30_000;

/** Waits for the end of a process; false when it is still there after half a minute. */
export async function untilGone(pid: number): Promise<boolean> {
  const end = performance.now() + patienceMs;
  while (performance.now() < end) {
    if (!isAlive(pid)) return true;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return false;
}

/** A process that has ended counts as gone also while nobody has taken note of its end (a zombie). */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
  try {
    return !/^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return true;
  }
}
