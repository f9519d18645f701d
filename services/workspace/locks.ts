import { rm, stat } from "node:fs/promises";
import { GitFailure } from "./git.ts";

/** git holds such a lock for milliseconds. */
const staleMs = 2_000;

/**
 * Does work that takes these locks, which nobody but this environment takes. When one is in the way and stays there, it was
 * left by a git that was killed: it is removed, and the work done once more.
 */
export async function unlocking<T>(locks: readonly string[], work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof GitFailure)) throw error;
    const found = (await Promise.all(locks.map(lockAt))).filter((lock) => lock !== null);
    if (found.length === 0) throw error;
    await new Promise((resolve) => setTimeout(resolve, staleMs));
    for (const { path, at } of found) if ((await lockAt(path))?.at === at) await rm(path, { force: true });
    return work();
  }
}

async function lockAt(path: string): Promise<{ path: string; at: number } | null> {
  const found = await stat(path).catch(() => null);
  return found === null ? null : { path, at: found.mtimeMs };
}
