import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { launchd } from "./launchd.ts";
import { realOf, serviceName } from "./name.ts";
import { readRecord, type ServiceRecord } from "./record.ts";
import type { ServiceManager } from "./service.ts";
import { systemd, userUnits } from "./systemd.ts";

export type InstalledService = { manager: ServiceManager; record: ServiceRecord /** What its file says. */; text: string };

/** The service that a folder has or could have; null on a system whose services are not known here. */
export function serviceOf(dir: string, env: NodeJS.ProcessEnv = process.env, platform = process.platform): ServiceManager | null {
  const home = env.HOME || homedir();
  const name = serviceName(dir, env);
  if (platform === "linux") return systemd(name, userUnits(env, home));
  if (platform === "darwin") return launchd(name, join(home, "Library", "LaunchAgents"), process.getuid?.() ?? 0);
  return null;
}

/** The service that `ropewalk service install` made for this folder; null when there is none. */
export function installedService(dir: string): InstalledService | null {
  const manager = serviceOf(dir);
  const text = manager === null ? null : fileText(manager.file);
  const record = text === null ? null : readRecord(text);
  if (manager === null || text === null || record === null || record.dir !== realOf(dir)) return null;
  return { manager, record, text };
}

/** Null when there is no such file. */
export function fileText(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return null;
    throw error;
  }
}
