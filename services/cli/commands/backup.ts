import { resolve } from "node:path";
import { Command } from "commander";
import type { BackupMade, BackupProgress } from "../../../schemas/backup.ts";
import { EnvironmentUnreachable } from "../../http/client/failures.ts";
import { connectLocal } from "../../http/client.ts";
import { exitCode } from "../exit-codes.ts";
import { badInput, CliFailure, exitOf, notReachable } from "../failure.ts";
import { Progress } from "../progress.ts";
import { offline } from "../session.ts";
import { table } from "../table.ts";
import { oneLine, style } from "../terminal.ts";
import { ago } from "../time.ts";
import { counted, sizeWords } from "../words.ts";

type Options = { keep?: string; list?: boolean };
type Request = { to?: string; keep?: number };
type Told = (news: BackupProgress) => void;

export function backupCommand(): Command {
  return new Command("backup")
    .description("copy the whole environment into a folder of its own, while it runs or not; it holds its keys")
    .argument("[to]", "the folder to put it into; without: backups in the environment's folder")
    .option("--keep <n>", "how many backups of this environment to keep there; the oldest beyond that are removed")
    .option("--list", "show those that there are instead")
    .action(
      offline<Options>(async (shell, { args: [to], options }) => {
        if (options.list === true) {
          const client = connectLocal(shell.dir);
          try {
            const { backups } = await client.backups();
            const rows = backups.map((b) => [oneLine(b.path), ago(b.createdAt), sizeWords(b.bytes)]);
            shell.answer({ backups }, () => (rows.length === 0 ? "none" : table(rows)));
          } finally {
            client.close();
          }
          return exitCode.ok;
        }
        const request: Request = {
          ...(to !== undefined && { to: resolve(to) }),
          ...(options.keep !== undefined && { keep: count(options.keep) }),
        };
        const progress = new Progress("making the backup");
        const tell: Told = ({ about, share }) => {
          progress.text = `backing up ${oneLine(about)}${share === null ? "" : ` (${Math.floor(share * 100)} %)`}`;
        };
        try {
          const backup = (await byRunning(shell.dir, request, tell)) ?? (await byStopped(shell.dir, request, tell));
          progress.done();
          shell.answer({ backup }, () => words(backup));
        } finally {
          progress.done();
        }
        return exitCode.ok;
      }),
    );
}

/** By the environment that runs; null when none does. */
async function byRunning(dir: string, request: Request, tell: Told): Promise<BackupMade | null> {
  const client = connectLocal(dir);
  let hasBegun = false;
  try {
    for await (const line of client.makeBackup(request)) {
      hasBegun = true;
      if (line.type === "made") return line.backup;
      if (line.type === "failed") throw new CliFailure(line.refusal, exitOf(line.refusal));
      tell(line);
    }
    throw notReachable(dir, "the environment went away while it made the backup", "Nothing is left of it; try again.");
  } catch (error) {
    if (error instanceof EnvironmentUnreachable && !hasBegun) return null;
    throw error;
  } finally {
    client.close();
  }
}

async function byStopped(dir: string, request: Request, tell: Told): Promise<BackupMade> {
  const { backUpStopped } = await import("../../backing-up.ts");
  return backUpStopped(dir, { ...request, onProgress: tell });
}

function words(made: BackupMade): string {
  const lines = [
    `${style("bold", oneLine(made.path))}: ${counted(made.files, "file")}, ${sizeWords(made.bytes)}, up to commit ${made.commit}`,
  ];
  for (const { path, worktrees, refs, trouble } of made.repositories)
    lines.push(
      trouble === null
        ? `  ${oneLine(path)}: ${counted(refs, "checkpoint ref")}, ${counted(worktrees.length, "worktree")}`
        : `  ${style("yellow", "not in it")}: ${oneLine(path)} (${oneLine(trouble)})`,
    );
  for (const path of made.leftOut) lines.push(`  ${style("yellow", "left out")}: ${oneLine(path)}`);
  if (made.removed.length > 0) lines.push(`  removed ${counted(made.removed.length, "older backup")}`);
  lines.push(
    style(
      "dim",
      `It holds the environment's keys: whoever has it can be this environment. Bring it back with: ropewalk restore ${oneLine(made.path)}`,
    ),
  );
  return lines.join("\n");
}

function count(text: string): number {
  const n = Number(text);
  if (!Number.isInteger(n) || n < 1 || n > 10_000)
    throw badInput("not_a_number", `--keep ${text} is no number of backups`, "Give a number from 1 on; without --keep all are kept.");
  return n;
}
