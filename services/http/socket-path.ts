import { createHash } from "node:crypto";
import { lstatSync, realpathSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { isAbsolute, join } from "node:path";
import { socketName } from "./client/find-socket.ts";

/** Socket addresses hold 104 to 108 bytes, depending on the system; a longer path would be cut without a word. */
export const maxSocketPathBytes = 100;

export type SocketPlace = {
  /** Where the socket itself is. */
  path: string;
  /** `<dir>/ropewalk.sock` as a link to it, when the folder's path is too long for a socket: clients find it whatever their XDG_RUNTIME_DIR. */
  link: string | null;
  /** A folder that must be made, private to the user, before the socket is put there. */
  makeFolder: string | null;
};

/** Where the socket of an environment's folder belongs (decision 41). `env` is the process's. Throws when no path is short enough. */
export function socketPlace(dir: string, env: NodeJS.ProcessEnv = process.env): SocketPlace {
  const own = join(realpathSync(dir), socketName);
  if (fits(own)) return { path: own, link: null, makeFolder: null };
  const file = `ropewalk-${createHash("sha256").update(own).digest("hex").slice(0, 16)}.sock`;
  const runtime = env.XDG_RUNTIME_DIR;
  if (runtime !== undefined && isAbsolute(runtime) && isFolder(runtime) && fits(join(runtime, file)))
    return { path: join(runtime, file), link: own, makeFolder: null };
  for (const base of [tmpdir(), "/tmp"]) {
    const folder = join(base, `ropewalk-${userId()}`);
    if (fits(join(folder, file))) return { path: join(folder, file), link: own, makeFolder: folder };
  }
  throw new Error(`no place for a socket has a short enough path (${own} is longer than ${maxSocketPathBytes} bytes)`);
}

const fits = (path: string) => Buffer.byteLength(path) <= maxSocketPathBytes;

function isFolder(path: string): boolean {
  try {
    return lstatSync(realpathSync(path)).isDirectory();
  } catch {
    return false;
  }
}

function userId(): string {
  return String(process.getuid?.() ?? userInfo().username);
}
