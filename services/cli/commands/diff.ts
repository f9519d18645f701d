import { Command } from "commander";
import { fileLines } from "../changed-files.ts";
import { resolve } from "../references.ts";
import { online } from "../session.ts";
import { clean } from "../terminal.ts";

export function diffCommand(): Command {
  return new Command("diff")
    .description("what changed in a thread's files: since its worktree began, or in one run")
    .argument("<thread>", "id, a unique beginning of it, or @last")
    .argument("[run]", "id, a unique beginning of it, or a run's number: what changed in that run")
    .option("--files", "names only")
    .action(
      online<{ files?: boolean }>(async (shell, client, { args: [ref, runRef], options }) => {
        const threadId = await resolve(client, "thread", ref);
        const run = runRef === undefined ? undefined : await resolve(client, "run", runRef, threadId);
        const { commit, difference } = await client.difference(threadId, run === undefined ? {} : { run });
        shell.answer({ commit, threadId, run: run ?? null, ...difference }, () =>
          options.files === true ? fileLines(difference.files).join("\n") : clean(difference.patch.trimEnd()),
        );
        if (!shell.json && difference.files.length === 0) shell.note("nothing changed");
        if (!shell.json && difference.isCut && options.files !== true) shell.note("it is longer than this; see all names with --files");
        return undefined;
      }),
    );
}
