export const socketName = "ropewalk.sock";

/** Where a client finds the socket of a folder, or null when there is none. */
export function findSocket(dir: string): string | null {
  // Not by `import`: a client that speaks to an address also runs where there is no Node.
  const { lstatSync, readlinkSync, realpathSync } = process.getBuiltinModule("node:fs");
  const { join, resolve } = process.getBuiltinModule("node:path");
  try {
    const own = join(realpathSync(dir), socketName);
    const found = lstatSync(own);
    if (found.isSymbolicLink()) return resolve(dir, readlinkSync(own));
    return found.isSocket() ? own : null;
  } catch {
    return null;
  }
}
