import { execFile } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";
import { homedir } from "node:os";
import { basename, delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** The oldest nats-server that the links are tested with (Debian 12 carries it). */
export const natsServerFloor = "2.9.10";

export type NatsServerBinary = { /** Absolute path. */ bin: string /** Such as `2.10.27`. */; version: string };

/** `NATS_SERVER_BIN` names something that cannot be used; the message says what and why. */
export class NatsServerUnusable extends Error {
  override readonly name = "NatsServerUnusable";
}

type Environment = Record<string, string | undefined>;
const fileName = process.platform === "win32" ? "nats-server.exe" : "nats-server";

/** Where a clone keeps what it fetched for itself. Beside the sources only: an installed package holds no such folder. */
const projectCache = fileURLToPath(new URL("../../../.cache/nats/", import.meta.url));

/** The user's own cache, for binaries that outlive a clone. */
function userCache(env: Environment): string {
  const home = env.HOME ?? homedir();
  const base =
    env.XDG_CACHE_HOME ||
    (process.platform === "darwin"
      ? join(home, "Library", "Caches")
      : process.platform === "win32"
        ? (env.LOCALAPPDATA ?? join(home, "AppData", "Local"))
        : join(home, ".cache"));
  return join(base, "ropewalk", "nats");
}

/** The PATH, and beside each `bin` in it the `sbin`: Debian puts servers there, which is not on a plain user's PATH. */
function searched(env: Environment): string[] {
  const path = (env.PATH ?? env.Path ?? "").split(delimiter).filter((folder) => folder !== "");
  const beside = path.filter((folder) => basename(folder) === "bin").map((folder) => join(dirname(folder), "sbin"));
  return [...path, ...beside, projectCache, userCache(env)];
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/** Reads `--version`; null when the file does not run or says something else. Bounded to 5 s. */
export async function natsServerVersion(bin: string): Promise<string | null> {
  try {
    const { stdout } = await promisify(execFile)(bin, ["--version"], { timeout: 5_000 });
    return /nats-server: v(\d+\.\d+\.\d+)/.exec(stdout)?.[1] ?? null;
  } catch {
    return null;
  }
}

export function isNatsServerNewEnough(version: string): boolean {
  const [have, need] = [version, natsServerFloor].map((text) => text.split(".").map(Number)) as [number[], number[]];
  for (const [place, part] of need.entries()) {
    const own = have[place] ?? 0;
    if (own !== part) return own > part;
  }
  return true;
}

/**
 * The nats-server to start: `NATS_SERVER_BIN`, else the first one on the PATH, in the clone's cache or the user's cache
 * that runs and is new enough; null when there is none. Never fetches one.
 * Throws {@link NatsServerUnusable} when `NATS_SERVER_BIN` is set and cannot be used: what was named is not passed over.
 */
export async function findNatsServer(env: Environment = process.env): Promise<NatsServerBinary | null> {
  const named = env.NATS_SERVER_BIN;
  if (named) {
    const version = await natsServerVersion(named);
    if (version === null) throw new NatsServerUnusable(`NATS_SERVER_BIN is ${named}, which is not a nats-server that runs here`);
    if (!isNatsServerNewEnough(version)) {
      throw new NatsServerUnusable(`NATS_SERVER_BIN is nats-server ${version}; ${natsServerFloor} or newer is needed`);
    }
    return { bin: named, version };
  }
  for (const bin of new Set(searched(env).map((folder) => join(folder, fileName)))) {
    if (!isExecutable(bin)) continue;
    const version = await natsServerVersion(bin);
    if (version !== null && isNatsServerNewEnough(version)) return { bin, version };
  }
  return null;
}
