import { randomInt } from "node:crypto";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";

const Kept = z.strictObject({ port: z.number().int().min(1).max(65_535) });

/** Below what systems hand out for connections that go out: a port from there could be somebody's at the next start. */
const lowest = 20_000;
const beyond = 30_000;

const keptIn = (dir: string) => join(dir, "http-port.json");

/** The port that an environment's folder keeps; null while there is none, or none that can be read. */
export function keptPort(dir: string): number | null {
  try {
    return Kept.parse(JSON.parse(readFileSync(keptIn(dir), "utf8"))).port;
  } catch {
    return null;
  }
}

/** Keeps a port, so that what programs were told stays true. Best effort: without it, it is another at the next start. */
export function keepPort(dir: string, port: number): void {
  const path = keptIn(dir);
  try {
    writeFileSync(`${path}.new`, `${JSON.stringify({ port })}\n`, { mode: 0o600 });
    renameSync(`${path}.new`, path);
  } catch {
    // The folder's own trouble is told by whoever has more to write.
  }
}

export const anyPort = (): number => randomInt(lowest, beyond);
