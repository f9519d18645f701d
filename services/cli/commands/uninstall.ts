import { Command } from "commander";
import { EnvironmentUnreachable } from "../../http/client/failures.ts";
import { connectLocal } from "../../http/client.ts";
import type { Belongings } from "../../uninstalling.ts";
import { removeCaches } from "../caches.ts";
import { confirm } from "../confirm.ts";
import { type ExitCode, exitCode } from "../exit-codes.ts";
import { CliFailure, exitOf } from "../failure.ts";
import { during } from "../progress.ts";
import { installedService } from "../service/find.ts";
import { offline } from "../session.ts";
import type { Shell } from "../shell.ts";
import { oneLine, style } from "../terminal.ts";
import { untilGone } from "../until-gone.ts";
import { counted } from "../words.ts";

type Options = { yes?: boolean; dryRun?: boolean; discardWork?: boolean; keepData?: boolean };
type Running = { pid: number; runs: number } | null;
const active = ["preparing", "placing", "starting", "running", "waiting", "interrupting"];

export function uninstallCommand(): Command {
  return new Command("uninstall")
    .description("take the environment off this machine: its service, process, worktrees, private refs and folder; says first what goes")
    .option("--yes", "do not ask")
    .option("--dry-run", "only say what would go")
    .option("--discard-work", "also when worktrees hold work that is nowhere else: it is gone then")
    .option("--keep-data", "take away the service and end the process; the folder, its worktrees and refs stay")
    .action(offline<Options>((shell, { options }) => uninstall(shell, options)));
}

async function uninstall(shell: Shell, options: Options): Promise<ExitCode> {
  const { belongingsOf, removeBelongings, uncommitted } = await import("../../uninstalling.ts");
  const service = installedService(shell.dir)?.manager.name ?? null;
  const all = await belongingsOf(shell.dir);
  if (all === null && service === null) {
    shell.answer({ removed: false, dir: shell.dir }, () => `there is no environment in ${oneLine(shell.dir)}`);
    return exitCode.ok;
  }
  const running = await whatRuns(shell.dir);
  const told = { dir: shell.dir, service, running, belongings: all };
  const lines = whatGoes(all, service, running, options.keepData === true);
  if (options.dryRun === true) {
    shell.answer({ ...told, removed: false }, () => lines.join("\n"));
    return exitCode.ok;
  }
  const keeps = options.keepData === true || all === null;
  if (!keeps && options.discardWork !== true && (all.work.length > 0 || all.scratch.length > 0)) {
    if (!shell.json) for (const line of lines) shell.note(line);
    throw new CliFailure(uncommitted(all), exitOf(uncommitted(all)));
  }
  await confirm(shell, { goes: lines, question: "remove all of this?", yes: options.yes === true });

  // In this order whatever is broken off can be done again: what would start it anew goes first, the folder last.
  if (service !== null) {
    const { removeService } = await import("../service/remove.ts");
    await during("removing the service", removeService(shell.dir));
  }
  await end(shell.dir);
  const { left } = keeps
    ? { left: all === null ? [] : [all.dir] }
    : await during("removing", removeBelongings(shell.dir, options.discardWork === true));
  const caches = keeps ? [] : removeCaches();
  shell.answer({ ...told, removed: true, left, caches }, () =>
    [
      keeps
        ? "the service and the process are gone"
        : "uninstalled; nothing of it is left in your repositories, but for objects that git collects in time",
      ...left.map((path) => `left: ${oneLine(path)}`),
      ...(keeps
        ? []
        : ["the program itself goes with: npm uninstall --global ropewalk. Sessions of Codex and Claude Code are where they were."]),
    ].join("\n"),
  );
  return exitCode.ok;
}

function whatGoes(all: Belongings | null, service: string | null, running: Running, keepsData: boolean): string[] {
  const first = [
    ...(service === null ? [] : [`the service ${service} is stopped and removed`]),
    ...(running === null
      ? []
      : [
          `the environment (pid ${running.pid}) is ended${running.runs > 0 ? `, and with it ${counted(running.runs, "run")} under way` : ""}`,
        ]),
  ];
  if (all === null || keepsData) return [...first, ...(all === null ? [] : [`${oneLine(all.dir)} stays, with its worktrees and refs`])];
  const refs = all.repositories.reduce((sum, r) => sum + r.refs.length, 0);
  const worktrees = all.repositories.reduce((sum, r) => sum + r.worktrees.length, 0);
  const warn = (text: string) => style("yellow", text);
  return [
    ...first,
    `${oneLine(all.dir)} goes${all.threads === null ? "" : `, with ${counted(all.threads, "thread")} in it, keys and programs that were let in`}`,
    ...all.repositories.map(
      (r) => `in ${oneLine(r.repository)}: ${counted(r.refs.length, "private ref")} and ${counted(r.worktrees.length, "worktree")} go`,
    ),
    ...(refs + worktrees === 0 ? ["your repositories hold nothing of it"] : ["your own branches, index, stash and files stay as they are"]),
    ...all.work.map(({ threadId, path, work }) =>
      warn(
        `work that is nowhere else: ${oneLine(path)} (${threadId}): ${work.unknown === undefined ? `${counted(work.count, "file")}, ${counted(work.commits, "commit")}` : `git cannot say: ${oneLine(work.unknown)}`}`,
      ),
    ),
    ...(all.scratch.length === 0
      ? []
      : [warn(`work that is nowhere else: ${counted(all.scratch.length, "file")} that agents without a project wrote, in scratch`)]),
    ...all.backups.map((path) => warn(`a backup goes with the folder: ${oneLine(path)}`)),
    ...all.links.map(
      ({ name, environmentId }) => `${oneLine(name)} (${environmentId}) does not hear from it any more; take the link away there too`,
    ),
    ...(all.trouble === null
      ? []
      : [warn(`the store cannot be read (${oneLine(all.trouble)}): only repositories that have worktrees of it are known`)]),
    ...all.foreign.map((name) => `${oneLine(name)} in the folder is not ropewalk's: it stays`),
    "to keep what there is: ropewalk backup FOLDER, before this",
  ];
}

async function whatRuns(dir: string): Promise<Running> {
  const client = connectLocal(dir);
  try {
    const [{ environment }, { health }] = await Promise.all([client.environment(5_000), client.health()]);
    return { pid: environment.pid, runs: active.reduce((sum, status) => sum + (health.counts.run?.[status] ?? 0), 0) };
  } catch (error) {
    if (error instanceof EnvironmentUnreachable) return null;
    throw error;
  } finally {
    client.close();
  }
}

async function end(dir: string): Promise<void> {
  const client = connectLocal(dir);
  try {
    const { pid } = await client.shutdown();
    if (await during("ending the environment", untilGone(pid))) return;
    const message = `the environment (pid ${pid}) is still stopping`;
    const hint = "Nothing is removed yet; uninstall again when it has ended.";
    throw new CliFailure({ code: "orchestration_error", reason: "still_stopping", message, hint }, exitCode.waitBound);
  } catch (error) {
    if (!(error instanceof EnvironmentUnreachable)) throw error;
  } finally {
    client.close();
  }
}
