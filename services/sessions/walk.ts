import type { Dirent } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Problem } from "./session.ts";

const maxEntries = 100_000;
const maxDepth = 16;

export type FoundFile = { path: string; bytes: number /** Milliseconds since 1970. */; changedAt: number };
export type Walked = { files: FoundFile[]; problems: Problem[] };

/**
 * The regular files below a folder that `wanted` picks by their path, each once. Links to files are followed, links to folders
 * are not, so that a loop of them has no end to find. What cannot be looked into is named.
 */
export async function walk(root: string, wanted: (path: string) => boolean): Promise<Walked> {
  const files = new Map<string, FoundFile>();
  const problems: Problem[] = [];
  let entries = 0;
  const open = [{ path: root, depth: 0 }];
  for (let folder = open.pop(); folder !== undefined; folder = open.pop()) {
    for (const entry of await entriesOf(folder.path, problems)) {
      entries += 1;
      if (entries > maxEntries) {
        problems.push({ file: root, line: null, why: `it holds more than ${maxEntries} entries; the rest was not looked at` });
        return { files: [...files.values()], problems };
      }
      const path = join(folder.path, entry.name);
      if (entry.isDirectory()) {
        if (folder.depth < maxDepth) open.push({ path, depth: folder.depth + 1 });
        else problems.push({ file: path, line: null, why: `it is more than ${maxDepth} folders deep` });
      } else if ((entry.isFile() || entry.isSymbolicLink()) && wanted(path)) await take(path, entry.isSymbolicLink());
    }
  }
  return { files: [...files.values()], problems };

  async function take(path: string, isLink: boolean): Promise<void> {
    try {
      const facts = await stat(path);
      if (!facts.isFile()) return;
      const real = isLink ? await realpath(path) : path;
      if (!files.has(real)) files.set(real, { path: real, bytes: facts.size, changedAt: Math.round(facts.mtimeMs) });
    } catch (error) {
      problems.push({ file: path, line: null, why: whyOf(error) });
    }
  }
}

async function entriesOf(folder: string, problems: Problem[]): Promise<Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    problems.push({ file: folder, line: null, why: whyOf(error) });
    return [];
  }
}

/** What the system says, without the path, which is told anyway. */
export function whyOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  const known: Record<string, string> = {
    ENOENT: "it is not there",
    EACCES: "this user may not read it",
    EPERM: "this user may not read it",
    ELOOP: "its symbolic links lead in a circle",
    EISDIR: "it is a folder",
    ENXIO: "it is no regular file",
  };
  return known[code ?? ""] ?? (code === undefined ? message : message.split(",")[0]) ?? "it cannot be read";
}
