import { createHash } from "node:crypto";
import { realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { environmentFolder } from "../folder.ts";

/** `ropewalk` for the usual folder; any other folder has a name of its own. */
export function serviceName(dir: string, env: NodeJS.ProcessEnv = process.env): string {
  const { ROPEWALK_DIR: _, ...usual } = env;
  const real = realOf(dir);
  if (real === usualFolder(usual)) return "ropewalk";
  const digest = createHash("sha256").update(real).digest("hex").slice(0, 8);
  const slug = basename(real)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "")
    .slice(0, 30);
  return ["ropewalk", ...(slug === "" || slug === "ropewalk" ? [] : [slug]), digest].join("-");
}

function usualFolder(env: NodeJS.ProcessEnv): string | null {
  try {
    return realOf(environmentFolder(undefined, env));
  } catch {
    return null;
  }
}

/** The real path of a folder, as far as it is there. */
export function realOf(path: string): string {
  const whole = resolve(path);
  try {
    return realpathSync(whole);
  } catch {
    return dirname(whole) === whole ? whole : join(realOf(dirname(whole)), basename(whole));
  }
}
