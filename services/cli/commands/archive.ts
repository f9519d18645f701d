import { Command } from "commander";
import { resolve } from "../references.ts";
import { online } from "../session.ts";

export function archiveCommand(): Command {
  return new Command("archive")
    .description("put a thread out of sight; it stays whole")
    .argument("<thread>", "id, a unique beginning of it, or @last")
    .action(
      online(async (shell, client, { args: [ref] }) => {
        const threadId = await resolve(client, "thread", ref);
        const { result, commit, repeated } = await client.command(
          { type: "thread.mark", threadId, mark: "archived", on: true },
          shell.commandId(),
        );
        shell.answer({ ...result, commit, repeated }, () => "archived");
        return undefined;
      }),
    );
}
