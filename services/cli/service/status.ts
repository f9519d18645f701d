import { existsSync } from "node:fs";
import { EnvironmentUnreachable } from "../../http/client/failures.ts";
import { connectLocal } from "../../http/client.ts";
import { logFile } from "../background.ts";
import { type ExitCode, exitCode } from "../exit-codes.ts";
import type { Shell } from "../shell.ts";
import { facts } from "../table.ts";
import { oneLine, style } from "../terminal.ts";
import { ago } from "../time.ts";
import { type InstalledService, installedService } from "./find.ts";
import { managerOr, programFor } from "./program.ts";
import type { ServiceState } from "./service.ts";

/** What is to be said of the service of a folder. `wrong` keeps it from running, `notes` do not. */
export type ServiceReport = {
  state: ServiceState | null;
  unreachable: string | null;
  wrong: string[];
  notes: string[];
  otherPid: number | null;
};

export async function status(shell: Shell): Promise<ExitCode> {
  const manager = managerOr(shell.dir);
  const service = installedService(shell.dir);
  const log = logFile(shell.dir);
  if (service === null) {
    shell.answer(
      { installed: false, service: manager.name, file: manager.file, log },
      () => "not installed; install it with: ropewalk service install",
    );
    return exitCode.notReachable;
  }
  const report = await reportOn(shell.dir, service);
  const { state, unreachable, wrong, notes, otherPid } = report;
  const { dir: _, ...made } = service.record;
  const document = { installed: true, service: manager.name, file: manager.file, log, ...report, madeFor: made };
  shell.answer(document, () =>
    facts([
      ["service", `${style("bold", manager.name)}, ${oneLine(manager.file)}`],
      ["at login", state === null ? "cannot be told" : state.isEnabled ? "started (enabled)" : "not started (disabled)"],
      ["running", running(state, unreachable)],
      otherPid === null
        ? null
        : ["beside it", `the environment runs in a process of its own (pid ${otherPid}); to have the service instead: ropewalk down`],
      ["program", oneLine(`${made.bin} ${made.version}, node ${made.node}`)],
      ["log", oneLine(log)],
      ...wrong.map((text) => [style("red", "wrong"), oneLine(text)] as const),
      ...notes.map((text) => [style("yellow", "note"), oneLine(text)] as const),
    ]),
  );
  return state?.isRunning ? exitCode.ok : exitCode.notReachable;
}

function running(state: ServiceState | null, unreachable: string | null): string {
  if (state === null) return `cannot be told: ${unreachable}`;
  if (!state.isRunning) return `no: ${state.detail}`;
  return `pid ${state.pid ?? "unknown"}${state.since === null ? "" : `, since ${new Date(state.since).toISOString()} (${ago(state.since)})`}, ${state.detail}`;
}

/** Asks the manager, and looks whether the file still fits. */
export async function reportOn(dir: string, { manager, record, text }: InstalledService): Promise<ServiceReport> {
  const unreachable = await manager.unreachable();
  const state = unreachable === null ? await manager.state() : null;
  const gone = [record.node, record.bin].filter((path) => !existsSync(path));
  const wrong = gone.map((path) => `the service starts ${path}, which is gone`);
  const fresh = programFor(dir);
  const notes: string[] = [];
  if (wrong.length === 0 && (record.node !== fresh.record.node || record.bin !== fresh.record.bin))
    notes.push(`the service starts ${record.bin} with ${record.node}, this command is ${fresh.record.bin} with ${fresh.record.node}`);
  else if (wrong.length === 0 && text !== manager.text(fresh))
    notes.push("it was installed with another version or another PATH than this shell has");
  return { state, unreachable, wrong, notes, otherPid: await pidBeside(dir, state) };
}

async function pidBeside(dir: string, state: ServiceState | null): Promise<number | null> {
  const client = connectLocal(dir);
  try {
    const { pid } = (await client.environment(5_000)).environment;
    return state !== null && pid !== state.pid ? pid : null;
  } catch (error) {
    if (error instanceof EnvironmentUnreachable) return null;
    throw error;
  } finally {
    client.close();
  }
}
