import { Command } from "commander";
import { providerChoice, resolve } from "../references.ts";
import { online } from "../session.ts";

export function switchCommand(): Command {
  return new Command("switch")
    .description("let another agent go on from the next message; it is told then what it has not seen")
    .argument("<thread>", "id, a unique beginning of it, or @last")
    .requiredOption("--with <instance[:model]>", "who")
    .action(
      online<{ with: string }>(async (shell, client, { args: [ref], options }) => {
        const provider = providerChoice(options.with);
        const threadId = await resolve(client, "thread", ref);
        const { result, commit, repeated } = await client.command({ type: "thread.switch", threadId, provider }, shell.commandId());
        shell.answer({ ...result, commit, repeated }, () => `the next message goes to ${options.with}`);
        return undefined;
      }),
    );
}
