import { homedir, userInfo } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { badInput } from "./failure.ts";

/**
 * The environment's folder (decision 11): `--dir`, else `ROPEWALK_DIR`, else `$XDG_DATA_HOME/ropewalk`, else this system's
 * usual place. A relative XDG_DATA_HOME is passed over, as its specification asks. It need not exist yet.
 */
export function environmentFolder(given: string | undefined, env: NodeJS.ProcessEnv = process.env, platform = process.platform): string {
  const named = given ?? env.ROPEWALK_DIR;
  if (given === "") throw badInput("no_folder", "--dir is empty", "Name a folder, or leave --dir out.");
  if (named !== undefined && named !== "") {
    if (named.includes("\0")) throw badInput("no_folder", "a folder's name cannot hold a zero byte", "Name another folder.");
    return resolve(named);
  }
  if (env.XDG_DATA_HOME !== undefined && isAbsolute(env.XDG_DATA_HOME)) return join(env.XDG_DATA_HOME, "ropewalk");
  if (platform === "win32" && env.LOCALAPPDATA !== undefined && isAbsolute(env.LOCALAPPDATA)) return join(env.LOCALAPPDATA, "ropewalk");
  const home = homeFolder();
  if (home === null)
    throw badInput("no_home", "this user has no home folder", "Name a folder for the environment with --dir or ROPEWALK_DIR.");
  if (platform === "darwin") return join(home, "Library", "Application Support", "ropewalk");
  if (platform === "win32") return join(home, "AppData", "Local", "ropewalk");
  return join(home, ".local", "share", "ropewalk");
}

/** The home folder, whatever HOME says when it says nothing usable. */
function homeFolder(): string | null {
  for (const ask of [homedir, () => userInfo().homedir]) {
    try {
      const home = ask();
      if (isAbsolute(home)) return home;
    } catch {
      // No such user in the system's list, and no HOME.
    }
  }
  return null;
}
