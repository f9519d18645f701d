import { Command } from "commander";
import { resolveThreadOrRun } from "../references.ts";
import { online } from "../session.ts";
import { counted } from "../words.ts";

type Options = { keepChildren?: boolean; reason?: string };

export function stopCommand(): Command {
  return new Command("stop")
    .description("stop a thread: its run, what waits behind it, and its subagents; or one run alone")
    .argument("<thread|run>", "id, a unique beginning of it, or @last")
    .option("--keep-children", "let its subagents go on")
    .option("--reason <text>", "what is noted as the reason")
    .action(
      online<Options>(async (shell, client, { args: [ref], options }) => {
        const { threadId, runId } = await resolveThreadOrRun(client, ref);
        const { result, commit, repeated } = await client.command(
          {
            type: "thread.interrupt",
            threadId,
            ...(runId !== null && { runId }),
            ...(options.keepChildren === true && { children: "keep" }),
            ...(options.reason !== undefined && { reason: options.reason }),
          },
          shell.commandId(),
        );
        const tasks = result.cancelledTasks.length;
        shell.answer(
          { ...result, commit, repeated },
          () => `stopping ${counted(result.runIds.length, "run")}${tasks > 0 ? ` and ${counted(tasks, "task")}` : ""}`,
        );
        return undefined;
      }),
    );
}
