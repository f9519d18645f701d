import { Command } from "commander";
import { resolve } from "../references.ts";
import { online } from "../session.ts";
import { counted } from "../words.ts";

export function deleteCommand(): Command {
  return new Command("delete")
    .description("delete a thread")
    .argument("<thread>", "id, a unique beginning of it, or @last")
    .option("--keep-forks", "also when forks show its history: what they need of it stays readable to them")
    .option("--stop", "stop first what runs in it, and its open subagents, depth first")
    .option("--discard-work", "also when its worktree holds work that is nowhere else: it is gone then")
    .action(
      online<{ keepForks?: boolean; stop?: boolean; discardWork?: boolean }>(async (shell, client, { args: [ref], options }) => {
        const threadId = await resolve(client, "thread", ref);
        const { result, commit, repeated } = await client.command(
          {
            type: "thread.delete",
            threadId,
            ...(options.keepForks === true && { keepForks: true }),
            ...(options.stop === true && { stop: true }),
            ...(options.discardWork === true && { discardWork: true }),
          },
          shell.commandId(),
        );
        const kept = result.keptFor.length;
        const stopped = result.runIds.length + result.cancelledTasks.length;
        shell.answer(
          { ...result, commit, repeated },
          () =>
            `deleted${stopped > 0 ? `; ${counted(result.runIds.length, "run")} and ${counted(result.cancelledTasks.length, "subagent")} stopped` : ""}${kept > 0 ? `; ${counted(kept, "fork")} keep${kept === 1 ? "s" : ""} what is needed of it` : ""}`,
        );
        return undefined;
      }),
    );
}
