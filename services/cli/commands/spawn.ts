import { Command } from "commander";
import { type ModeOptions, modesOf, withModeOptions } from "../modes.ts";
import { providerChoice, resolve, resolvePeer } from "../references.ts";
import type { WaitOptions } from "../run-outcome.ts";
import { online } from "../session.ts";
import { awaitTask } from "../task-outcome.ts";
import { textArgument } from "../text-input.ts";
import { duration } from "../time.ts";
import { type WorkspaceOption, withWorkspaceOption, workspaceOf } from "../workspace-option.ts";

type Options = WaitOptions & ModeOptions & WorkspaceOption & { to?: string; with?: string; title?: string; handOver?: string };

export function spawnCommand(): Command {
  const command = new Command("spawn")
    .description("give a task to a subagent of a thread; its result is told to the thread, whatever happens")
    .argument("<thread>", "the thread that the result is for")
    .argument("<prompt>", "the task, which is all that the subagent is told; - reads it from standard input")
    .option("--to <environment>", "run it at a linked environment (the link's name, or an id)")
    .option("--with <instance[:model]>", "who is to do it")
    .option("--title <title>", "what to call it")
    .option("--hand-over <text>", "what else it is told; - reads it from standard input")
    .option("--wait", "wait for the result and print it")
    .option("--timeout <duration>", "how long to wait, like 90s or 5m (exit code 5 then; the task goes on)");
  return withModeOptions(withWorkspaceOption(command)).action(
    online<Options>(async (shell, client, { args: [ref, text], options }) => {
      const timeoutMs = options.timeout === undefined ? null : duration(options.timeout);
      const prompt = await textArgument(text, "the task");
      const handedOver = options.handOver === undefined ? undefined : await textArgument(options.handOver, "what is handed over");
      const provider = options.with === undefined ? undefined : providerChoice(options.with);
      const parentThreadId = await resolve(client, "thread", ref);
      const peer = options.to === undefined ? undefined : await resolvePeer(client, options.to);
      const { result, commit, repeated } = await client.command(
        {
          type: "task.spawn",
          parentThreadId,
          prompt,
          ...modesOf(options),
          ...(options.title !== undefined && { title: options.title }),
          ...(handedOver !== undefined && { handedOver }),
          ...(provider !== undefined && { provider }),
          ...(peer !== undefined && { environmentId: peer.environmentId }),
          ...workspaceOf(options),
        },
        shell.commandId(),
      );
      if (options.wait === true) return awaitTask(shell, client, result.taskId, timeoutMs, { ...result, commit, repeated });
      shell.answer({ ...result, commit, repeated }, () => result.taskId);
      return undefined;
    }),
  );
}
