import { Argument, Command } from "commander";
import { completionScript, shells } from "../completion-scripts.ts";
import { offline } from "../session.ts";

export function completionCommand(): Command {
  const command = new Command("completion");
  return command
    .description("a script that completes commands and options, e.g.: source <(ropewalk completion bash)")
    .addArgument(new Argument("<shell>", "which shell").choices([...shells]))
    .action(
      offline(async (shell, { args: [name] }) => {
        shell.print(completionScript(name as (typeof shells)[number], command.parent ?? command));
        return undefined;
      }),
    );
}
