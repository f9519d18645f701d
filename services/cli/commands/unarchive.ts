import { Command } from "commander";
import { resolve } from "../references.ts";
import { online } from "../session.ts";

export function unarchiveCommand(): Command {
  return new Command("unarchive")
    .description("bring an archived thread back")
    .argument("<thread>", "id, a unique beginning of it, or @last")
    .action(
      online(async (shell, client, { args: [ref] }) => {
        const threadId = await resolve(client, "thread", ref);
        const { result, commit, repeated } = await client.command(
          { type: "thread.mark", threadId, mark: "archived", on: false },
          shell.commandId(),
        );
        shell.answer({ ...result, commit, repeated }, () => "back in the list");
        return undefined;
      }),
    );
}
