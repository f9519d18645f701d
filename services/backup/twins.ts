import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { EnvironmentConfig } from "../../schemas/config.ts";
import type { EnvironmentId } from "../../schemas/ids.ts";
import { Text } from "../../schemas/text.ts";
import { refuse } from "../runtime/refused.ts";
import { writeWhole } from "../runtime/whole-file.ts";

/** `twins.json` in an environment's folder: other folders with the same identity, which a restore beside the original made. */
const Twins = z.strictObject({ version: z.literal(1), folders: z.array(Text) });

const twinsFile = (dir: string) => join(dir, "twins.json");

/** Before there are two: whoever starts first knows of the other. */
export function noteTwin(dir: string, twin: string): void {
  writeWhole(twinsFile(dir), `${JSON.stringify({ version: 1, folders: [...new Set([...twinsOf(dir), twin])] }, null, 1)}\n`);
}

/**
 * Keeps two environments of one identity on this machine from running at once (links.md, invariant 4 has peers refuse the
 * second). Each holds its own folder before it looks, so that of two that start together one at least gives up. Throws
 * Refused: `identity_in_use`.
 */
export function refuseSecondTwin(dir: string, environmentId: EnvironmentId, isHeld: (dir: string) => boolean): void {
  const running = livingTwins(dir, environmentId).find((twin) => isHeld(twin));
  if (running === undefined) return;
  refuse(
    "orchestration_error",
    "identity_in_use",
    `another environment with this identity is running on ${running}: one of them was restored from a backup of the other`,
    `Stop it first: ropewalk --dir ${running} down. Keep one of the two, and move the other's folder away.`,
  );
}

/** Folders with the same identity that are there now. */
function livingTwins(dir: string, environmentId: EnvironmentId): string[] {
  return twinsOf(dir).filter((twin) => twin !== dir && existsSync(join(twin, "ropewalk.db")) && identityOf(twin) === environmentId);
}

function twinsOf(dir: string): string[] {
  try {
    return Twins.parse(JSON.parse(readFileSync(twinsFile(dir), "utf8"))).folders;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

function identityOf(dir: string): EnvironmentId | null {
  try {
    return EnvironmentConfig.parse(JSON.parse(readFileSync(join(dir, "config.json"), "utf8"))).environment.id;
  } catch {
    return null;
  }
}
