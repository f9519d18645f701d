import { closeSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { connectLocal, type LocalClient } from "../../http/client.ts";
import { writeWhole } from "../../runtime/whole-file.ts";
import { openLogFor } from "../background.ts";
import { type ExitCode, exitCode } from "../exit-codes.ts";
import { CliFailure } from "../failure.ts";
import { during } from "../progress.ts";
import type { Shell } from "../shell.ts";
import { answers, startService } from "../starting.ts";
import { oneLine } from "../terminal.ts";
import { untilGone } from "../until-gone.ts";
import { fileText } from "./find.ts";
import { managerOr, programFor } from "./program.ts";
import { readRecord } from "./record.ts";
import type { ServiceManager } from "./service.ts";

/** Writes the service's file and, where the manager of services answers, has it run. May be repeated. */
export async function install(shell: Shell): Promise<ExitCode> {
  const manager = managerOr(shell.dir);
  const program = programFor(shell.dir);
  const before = fileText(manager.file);
  if (before !== null && readRecord(before) === null) throw foreign(manager);
  const text = manager.text(program);
  const isChanged = before !== text;
  const why = await manager.unreachable();
  const client = connectLocal(shell.dir);
  try {
    const tookOver = why === null && shell.mayStart ? await makeWay(client, manager, isChanged) : null;
    closeSync(openLogFor(program.record.dir));
    if (isChanged) writeOrRefuse(manager.file, text);
    if (why === null) await have(shell, client, manager, isChanged);
    const state = why === null ? await manager.state() : null;
    const commands = why === null ? [] : manager.byHand.activate;
    const { leftOut, log } = program;
    shell.answer({ service: manager.name, file: manager.file, changed: isChanged, tookOver, state, commands, leftOut, log }, () =>
      [
        `${manager.name} is ${before === null ? "installed" : isChanged ? "installed anew" : "installed already, as it should be"}${state?.isRunning ? ` and runs (pid ${state.pid})` : ""}`,
        `its file is ${oneLine(manager.file)}, its log ${oneLine(log)}`,
        ...(tookOver === null ? [] : [`it took over from the process that ran before (pid ${tookOver})`]),
        ...(why === null ? [] : [`${manager.kind} cannot be asked here (${why}); where it can, type:`, ...commands.map((c) => `  ${c}`)]),
        ...(leftOut.length === 0
          ? []
          : [
              `not given to it, since they may be secret: ${leftOut.join(", ")}. Log your agents in, or name what they need under env in config.json`,
            ]),
        ...(program.record.bin.includes("/_npx/")
          ? ["this ropewalk is in npx's cache, which may be emptied: npm install --global ropewalk"]
          : []),
        ...(manager.lifetimeNote() === null ? [] : [manager.lifetimeNote() ?? ""]),
      ].join("\n"),
    );
    return exitCode.ok;
  } finally {
    client.close();
  }
}

async function have(shell: Shell, client: LocalClient, manager: ServiceManager, isChanged: boolean): Promise<void> {
  const state = await manager.state();
  if (!shell.mayStart) return manager.activate(false);
  if (state.isRunning && state.isEnabled && !isChanged) return;
  await during(
    `starting ${manager.name}`,
    startService(client, manager, () => manager.activate(true)),
  );
}

/**
 * Ends the environment that runs on the folder, where the service is to run in its place: its pid; null where there is
 * nothing to do. Refused while runs are under way.
 */
async function makeWay(client: LocalClient, manager: ServiceManager, isChanged: boolean): Promise<number | null> {
  if (!(await answers(client))) return null;
  const [{ environment }, { health }, state] = await Promise.all([client.environment(), client.health(), manager.state()]);
  const isServed = state.pid === environment.pid;
  if (isServed && !isChanged) return null;
  const active = ["preparing", "placing", "starting", "running", "waiting", "interrupting"];
  const runs = active.reduce((sum, status) => sum + (health.counts.run?.[status] ?? 0), 0);
  if (runs > 0)
    throw new CliFailure(
      {
        code: "orchestration_error",
        reason: "runs_active",
        message: `${runs === 1 ? "a run is" : `${runs} runs are`} under way in the environment that the service would replace (pid ${environment.pid})`,
        hint: "Wait until nothing runs, or end it by hand first: ropewalk down",
      },
      exitCode.refused,
    );
  // The manager restarts its own.
  if (isServed) return null;
  await client.shutdown();
  await during("stopping the environment that runs", untilGone(environment.pid));
  return environment.pid;
}

function foreign(manager: ServiceManager): CliFailure {
  const message = `${manager.file} is there, and ropewalk service install did not make it`;
  const hint = "Look at it, and move it away when it is not needed.";
  return new CliFailure({ code: "orchestration_error", reason: "service_foreign", message, hint }, exitCode.refused);
}

function writeOrRefuse(file: string, text: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true });
    writeWhole(file, text, 0o644);
  } catch (error) {
    const message = `${file} cannot be written: ${(error as Error).message}`;
    throw new CliFailure(
      { code: "orchestration_error", reason: "service_unwritable", message, hint: "Check the folder's owner and rights." },
      exitCode.refused,
    );
  }
}
