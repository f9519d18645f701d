import { Command } from "commander";
import type { ForkPoint } from "../../../schemas/command.ts";
import { resolve, resolveForkPoint } from "../references.ts";
import { online } from "../session.ts";
import { type WorkspaceOption, withWorkspaceOption, workspaceOf } from "../workspace-option.ts";

type Options = WorkspaceOption & { at?: string; title?: string };

export function forkCommand(): Command {
  const command = new Command("fork")
    .description("make another thread that goes on from a point of this one; nothing is copied, no agent is started")
    .argument("<thread>", "id, a unique beginning of it, or @last")
    .option("--at <run|checkpoint>", "where (id, beginning, or a run's number); without: the latest completed run")
    .option("--title <title>", "what to call it");
  return withWorkspaceOption(command).action(
    online<Options>(async (shell, client, { args: [ref], options }) => {
      const threadId = await resolve(client, "thread", ref);
      const at: ForkPoint = options.at === undefined ? { kind: "latest_stable" } : await resolveForkPoint(client, threadId, options.at);
      const { result, commit, repeated } = await client.command(
        { type: "thread.fork", threadId, at, ...(options.title !== undefined && { title: options.title }), ...workspaceOf(options) },
        shell.commandId(),
      );
      shell.answer({ ...result, commit, repeated }, () => result.threadId);
      return undefined;
    }),
  );
}
