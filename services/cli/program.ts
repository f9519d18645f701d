import { Command } from "commander";
import { packageVersion } from "../runtime/version.ts";
import { answerCommand } from "./commands/answer.ts";
import { archiveCommand } from "./commands/archive.ts";
import { attachCommand } from "./commands/attach.ts";
import { backupCommand } from "./commands/backup.ts";
import { chartsCommand } from "./commands/charts.ts";
import { clientCommand } from "./commands/client.ts";
import { completionCommand } from "./commands/completion.ts";
import { continueCommand } from "./commands/continue.ts";
import { deleteCommand } from "./commands/delete.ts";
import { diffCommand } from "./commands/diff.ts";
import { doctorCommand } from "./commands/doctor.ts";
import { downCommand } from "./commands/down.ts";
import { exportCommand } from "./commands/export.ts";
import { forkCommand } from "./commands/fork.ts";
import { handoffCommand } from "./commands/handoff.ts";
import { importCommand } from "./commands/import.ts";
import { linkCommand } from "./commands/link.ts";
import { lsCommand } from "./commands/ls.ts";
import { mcpCommand } from "./commands/mcp.ts";
import { mergeBackCommand } from "./commands/merge-back.ts";
import { moveCommand } from "./commands/move.ts";
import { needsCommand } from "./commands/needs.ts";
import { newCommand } from "./commands/new.ts";
import { noCommand } from "./commands/no.ts";
import { okCommand } from "./commands/ok.ts";
import { openCommand } from "./commands/open.ts";
import { projectCommand } from "./commands/project.ts";
import { purgeCommand } from "./commands/purge.ts";
import { restoreCommand } from "./commands/restore.ts";
import { runCommand } from "./commands/run.ts";
import { sendCommand } from "./commands/send.ts";
import { serviceCommand } from "./commands/service.ts";
import { sessionsCommand } from "./commands/sessions.ts";
import { showCommand } from "./commands/show.ts";
import { spawnCommand } from "./commands/spawn.ts";
import { statusCommand } from "./commands/status.ts";
import { stopCommand } from "./commands/stop.ts";
import { switchCommand } from "./commands/switch.ts";
import { taskCommand } from "./commands/task.ts";
import { transferCommand } from "./commands/transfer.ts";
import { unarchiveCommand } from "./commands/unarchive.ts";
import { undoCommand } from "./commands/undo.ts";
import { uninstallCommand } from "./commands/uninstall.ts";
import { upCommand } from "./commands/up.ts";

const groups: [heading: string, commands: (() => Command)[]][] = [
  ["Environment", [upCommand, downCommand, statusCommand, doctorCommand, serviceCommand, mcpCommand]],
  [
    "Threads",
    [lsCommand, newCommand, showCommand, sendCommand, attachCommand, stopCommand, archiveCommand, unarchiveCommand, deleteCommand],
  ],
  ["Files and going back", [diffCommand, undoCommand, openCommand]],
  ["Sessions of other programs", [sessionsCommand, continueCommand, importCommand]],
  ["What asks for you", [needsCommand, okCommand, noCommand, answerCommand]],
  ["Fork, switch, merge back, spawn, move", [forkCommand, switchCommand, mergeBackCommand, spawnCommand, moveCommand]],
  ["Records", [projectCommand, runCommand, taskCommand, transferCommand, handoffCommand, linkCommand, clientCommand]],
  ["Leaving", [exportCommand, backupCommand, restoreCommand, purgeCommand, uninstallCommand]],
  ["Other", [chartsCommand, completionCommand]],
];

/** The command line. Errors of usage are thrown; what Commander would print for them goes to `onUsage`. */
export function createProgram(onUsage: (text: string) => void): Command {
  const program = new Command("ropewalk")
    .description("a durable runtime for coding-agent conversations: fork, switch, merge back, spawn and import, and nothing is lost")
    .version(packageVersion())
    .option("--dir <folder>", "the environment's folder; else ROPEWALK_DIR, else $XDG_DATA_HOME/ropewalk or this system's usual place")
    .option("--json", "answer in JSON")
    .option("--no-start", "do not start an environment when none is running (exit code 4 then)")
    .option("--request-id <id>", "name this call, so that repeating it does nothing twice")
    .addHelpText(
      "after",
      `
Alone it is ropewalk sessions. Threads, runs and the rest are named by their ids, by a unique beginning of the id's uuid part, or by @last.
Exit codes: 0 done, 2 wrong input, 3 refused, 4 no environment reachable, 5 waited long enough, 10 something needs you, 130 interrupted, 1 a fault.`,
    );
  for (const [heading, commands] of groups) {
    program.commandsGroup(`${heading}:`);
    for (const make of commands) program.addCommand(make());
  }
  leaveErrorsTo(onUsage, program);
  return program;
}

/** Set on each command, since those that are added to another do not inherit it. */
export function leaveErrorsTo(onUsage: (text: string) => void, command: Command): void {
  command.exitOverride().configureOutput({ writeErr: onUsage });
  for (const below of command.commands) leaveErrorsTo(onUsage, below);
}
