import { rmdirSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { connectLocal } from "../../http/client.ts";
import { type ExitCode, exitCode } from "../exit-codes.ts";
import { during } from "../progress.ts";
import type { Shell } from "../shell.ts";
import { answers } from "../starting.ts";
import { oneLine } from "../terminal.ts";
import { untilGone } from "../until-gone.ts";
import { installedService } from "./find.ts";
import { managerOr } from "./program.ts";

export async function remove(shell: Shell): Promise<ExitCode> {
  const manager = managerOr(shell.dir);
  const removed = await during("removing the service", removeService(shell.dir));
  shell.answer({ removed: removed !== null, service: manager.name, ...removed }, () => {
    if (removed === null) return `there is no service for ${oneLine(shell.dir)}`;
    const { why } = removed;
    return [
      `${manager.name} is removed; the environment's folder is as it was`,
      ...(why === null
        ? []
        : [`${manager.kind} cannot be asked here (${why}); where it can, type: ${manager.byHand.deactivate.join("; ")}`]),
    ].join("\n");
  });
  return exitCode.ok;
}

/** Stops the service of a folder and takes away what its installation made, nothing else. Null when there is none. */
export async function removeService(dir: string): Promise<{ file: string; why: string | null } | null> {
  const service = installedService(dir);
  if (service === null) return null;
  const { manager } = service;
  const why = await manager.unreachable();
  if (why === null) await manager.deactivate();
  else await endProcess(dir);
  rmSync(manager.file, { force: true });
  await manager.forget().catch((error) => {
    if (why === null) throw error;
  });
  // Folders that stood there for this file alone.
  if (manager.kind === "systemd") for (const folder of [dirname(manager.file), dirname(dirname(manager.file))]) removeEmpty(folder);
  return { file: manager.file, why };
}

/** Where the manager cannot be asked, whatever runs is asked itself. */
async function endProcess(dir: string): Promise<void> {
  const client = connectLocal(dir);
  try {
    if (await answers(client)) await untilGone((await client.shutdown()).pid);
  } finally {
    client.close();
  }
}

function removeEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // Something else is in it.
  }
}
