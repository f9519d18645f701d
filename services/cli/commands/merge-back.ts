import { Command } from "commander";
import { resolve } from "../references.ts";
import { online } from "../session.ts";

export function mergeBackCommand(): Command {
  return new Command("merge-back")
    .description("tell a fork's parent, with its next message, what was said in the fork since it was last told; git is not touched")
    .argument("<fork>", "id, a unique beginning of it, or @last")
    .option("--into <thread>", "the parent, to be sure of it")
    .action(
      online<{ into?: string }>(async (shell, client, { args: [ref], options }) => {
        const threadId = await resolve(client, "thread", ref);
        const into = options.into === undefined ? undefined : await resolve(client, "thread", options.into);
        const { result, commit, repeated } = await client.command(
          { type: "thread.merge_back", threadId, ...(into !== undefined && { into }) },
          shell.commandId(),
        );
        shell.answer({ ...result, commit, repeated }, () =>
          [
            `${result.into} is told with its next message (${result.transferId})`,
            ...(result.supersedes === null ? [] : [`it replaces ${result.supersedes}, which had not been told yet`]),
          ].join("\n"),
        );
        return undefined;
      }),
    );
}
