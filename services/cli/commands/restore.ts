import { resolve } from "node:path";
import { Command } from "commander";
import type { Restored } from "../../../schemas/backup.ts";
import { exitCode } from "../exit-codes.ts";
import { Progress } from "../progress.ts";
import { offline } from "../session.ts";
import { oneLine, style } from "../terminal.ts";
import { ago } from "../time.ts";
import { counted } from "../words.ts";

type Options = { into?: string; beside?: boolean };

export function restoreCommand(): Command {
  return new Command("restore")
    .description("make an environment's folder of a backup; nothing that is there is written over")
    .argument("<from>", "the folder that ropewalk backup has made")
    .option("--into <folder>", "an empty folder, or one that is not there yet; without: the environment's usual one")
    .option("--beside", "also while the original is still in its folder: only one of the two can run at a time")
    .action(
      offline<Options>(async (shell, { args: [from = ""], options }) => {
        const { restoreFrom } = await import("../../backing-up.ts");
        const into = options.into === undefined ? shell.dir : resolve(options.into);
        const progress = new Progress("restoring");
        try {
          const restored = await restoreFrom(resolve(from), {
            into,
            beside: options.beside === true,
            onProgress: (about, share) => {
              progress.text = `${oneLine(about)}${share > 0 ? ` (${Math.floor(share * 100)} %)` : ""}`;
            },
          });
          progress.done();
          shell.answer({ restored }, () => words(restored));
        } finally {
          progress.done();
        }
        return exitCode.ok;
      }),
    );
}

function words({ dir, environmentName, commit, createdAt, repositories, worktrees, original }: Restored): string {
  const lines = [`${style("bold", oneLine(environmentName))} is in ${oneLine(dir)} as it was ${ago(createdAt)} (commit ${commit})`];
  for (const { path, state, refs, note } of repositories)
    lines.push(
      state === "restored"
        ? `  ${oneLine(path)}: ${counted(refs, "checkpoint ref")} there`
        : `  ${style("yellow", state === "partly" ? "in part" : "not restored")}: ${oneLine(path)} (${oneLine(note ?? "")})`,
    );
  if (worktrees > 0) lines.push(`  ${counted(worktrees, "worktree")} will be filled again when it starts`);
  if (original !== null)
    lines.push(`  ${style("yellow", "note")}: the original is still in ${oneLine(original)}; only one of the two can run at a time`);
  lines.push(
    style("dim", `Its links tell their peers that it was restored; what a peer has beyond it is shown as diverged.`),
    `start it with: ropewalk --dir ${oneLine(dir)} up --detach`,
  );
  return lines.join("\n");
}
