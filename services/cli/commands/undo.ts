import { Command } from "commander";
import type { RunId, ThreadId } from "../../../schemas/ids.ts";
import type { UndoPreviewAnswer } from "../../http/client/answers.ts";
import type { LocalClient } from "../../http/client.ts";
import { fileLines } from "../changed-files.ts";
import { confirm } from "../confirm.ts";
import { badInput } from "../failure.ts";
import { during } from "../progress.ts";
import { resolve } from "../references.ts";
import { online } from "../session.ts";
import type { Shell } from "../shell.ts";
import { counted, runWords } from "../words.ts";

type Options = { to?: string; yes?: boolean; dryRun?: boolean; back?: boolean };
const restoreMs = 300_000;
const shownFiles = 20;

export function undoCommand(): Command {
  return new Command("undo")
    .description("take a thread's last runs back, and its own worktree with them; says first what goes")
    .argument("<thread>", "id, a unique beginning of it, or @last")
    .option("--to <run>", "back to this run (id, beginning, or its number), or to its start; without: the last run alone")
    .option("--yes", "do not ask")
    .option("--dry-run", "only say what would go")
    .option("--back", "take the last undo back, as long as nothing new ran")
    .action(
      online<Options>(async (shell, client, { args: [ref], options }) => {
        const threadId = await resolve(client, "thread", ref);
        if (options.back === true) return redo(shell, client, threadId);
        const to = await pointOf(client, threadId, options.to);
        const preview = await client.undoPreview(threadId, to === undefined ? {} : { to });
        if (options.dryRun === true) {
          shell.answer(preview, () => whatGoes(preview).join("\n"));
          return undefined;
        }
        await confirm(shell, { goes: whatGoes(preview), question: "take this back?", yes: options.yes === true });
        const { result, commit, repeated } = await client.command(
          { type: "thread.undo", threadId, ...(to !== undefined && { to: to === "start" ? null : to }) },
          shell.commandId(),
        );
        await restored(client, threadId);
        shell.answer({ ...result, commit, repeated }, () => `took ${counted(result.runIds.length, "run")} back`);
        if (!shell.json) shell.note(`take that back with: ropewalk undo ${threadId} --back`);
        return undefined;
      }),
    );
}

async function pointOf(client: LocalClient, threadId: ThreadId, to: string | undefined): Promise<RunId | "start" | undefined> {
  return to === undefined || to === "start" ? to : resolve(client, "run", to, threadId);
}

export function whatGoes({ runs, files }: UndoPreviewAnswer): string[] {
  const changes = files === null ? [] : fileLines(files.slice(0, shownFiles)).map((line) => `    ${line}`);
  return [
    ...runs.map((run) => `run ${run.ordinal} goes (${runWords(run)})`),
    files === null
      ? "files stay as they are: the thread has no worktree of its own"
      : files.length === 0
        ? "its worktree stays as it is"
        : `in its worktree ${counted(files.length, "file")} change${files.length === 1 ? "s" : ""}:`,
    ...changes,
    ...(files !== null && files.length > shownFiles ? [`    and ${files.length - shownFiles} more`] : []),
  ];
}

async function redo(shell: Shell, client: LocalClient, threadId: ThreadId): Promise<undefined> {
  const { result, commit, repeated } = await client.command({ type: "thread.redo", threadId }, shell.commandId());
  await restored(client, threadId);
  shell.answer(
    { ...result, commit, repeated },
    () => `${counted(result.runIds.length, "run")} ${result.runIds.length === 1 ? "is" : "are"} back`,
  );
  return undefined;
}

/** The worktree goes back after the commit; whoever types the next command should find it so. */
async function restored(client: LocalClient, threadId: ThreadId): Promise<void> {
  await during(
    "the worktree goes back",
    (async () => {
      for (const end = performance.now() + restoreMs; performance.now() < end; ) {
        if ((await client.thread(threadId)).thread.restoring == null) return;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      throw badInput("not_restored_yet", "the worktree is not as it should be yet", "See: ropewalk doctor. The next run waits for it.");
    })(),
  );
}
