import { rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/**
 * Removes what ropewalk keeps for speed in the user's own cache: compiled code (bin/ropewalk.js), a nats-server that was
 * fetched. Whoever of this user's environments misses it makes it anew.
 */
export function removeCaches(env: NodeJS.ProcessEnv = process.env): string[] {
  const home = env.HOME || homedir();
  const bases = [env.XDG_CACHE_HOME || join(home, ".cache"), ...(process.platform === "darwin" ? [join(home, "Library", "Caches")] : [])];
  return bases.flatMap((base) => {
    const folder = join(base, "ropewalk");
    try {
      rmSync(folder, { recursive: true });
      return [folder];
    } catch {
      // There is none, or it may not be changed; it is only a cache.
      return [];
    }
  });
}
