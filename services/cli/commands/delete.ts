import { Command } from "commander";
import { resolve } from "../references.ts";
import { online } from "../session.ts";
import { counted } from "../words.ts";

export function deleteCommand(): Command {
  return new Command("delete")
    .description("delete a thread")
    .argument("<thread>", "id, a unique beginning of it, or @last")
    .option("--keep-forks", "also when forks show its history: what they need of it stays readable to them")
    .option("--discard-work", "also when its worktree holds work that is nowhere else: it is gone then")
    .action(
      online<{ keepForks?: boolean; discardWork?: boolean }>(async (shell, client, { args: [ref], options }) => {
        const threadId = await resolve(client, "thread", ref);
        const { result, commit, repeated } = await client.command(
          {
            type: "thread.delete",
            threadId,
            ...(options.keepForks === true && { keepForks: true }),
            ...(options.discardWork === true && { discardWork: true }),
          },
          shell.commandId(),
        );
        const kept = result.keptFor.length;
        shell.answer(
          { ...result, commit, repeated },
          () => `deleted${kept > 0 ? `; ${counted(kept, "fork")} keep${kept === 1 ? "s" : ""} what is needed of it` : ""}`,
        );
        return undefined;
      }),
    );
}
