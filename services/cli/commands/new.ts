import { Command } from "commander";
import type { ProjectId } from "../../../schemas/ids.ts";
import type { LocalClient } from "../../http/client.ts";
import { type ModeOptions, modesOf, withModeOptions } from "../modes.ts";
import { providerChoice, resolveProject } from "../references.ts";
import { awaitRun, type WaitOptions, waitBound } from "../run-outcome.ts";
import { online } from "../session.ts";
import { textArgument } from "../text-input.ts";

type Options = WaitOptions & ModeOptions & { title?: string; with?: string; worktree?: boolean; project?: string };

export function newCommand(): Command {
  const command = new Command("new")
    .description("make a thread; with TEXT, send it as the first message")
    .argument("[text]", "first message; - reads it from standard input")
    .option("--title <title>", "what to call it")
    .option("--with <instance[:model]>", "who is to serve it")
    .option("--project <project>", "where it works (id, name or path); without: the known project that this folder is in, if any")
    .option("--worktree", "in a worktree of its own, which its first run makes; without: in the project's folder")
    .option("--no-wait", "do not wait for the answer")
    .option("--timeout <duration>", "how long to wait for it, like 90s or 5m");
  return withModeOptions(command).action(
    online<Options>(async (shell, client, { args: [text], options }) => {
      const timeoutMs = waitBound(options);
      const message = text === undefined ? null : await textArgument(text, "the message");
      const provider = options.with === undefined ? undefined : providerChoice(options.with);
      const projectId = await projectFor(client, options.project);
      const made = await client.command(
        {
          type: "thread.create",
          ...modesOf(options),
          ...(options.title !== undefined ? { title: options.title } : message !== null && { title: titleOf(message) }),
          ...(provider !== undefined && { provider }),
          ...(projectId !== null && { projectId }),
          ...(options.worktree === true && { workspace: { strategy: "worktree" as const } }),
        },
        shell.commandId(message === null ? "" : "create"),
      );
      const { threadId } = made.result;
      if (message === null) {
        shell.answer({ ...made.result, commit: made.commit, repeated: made.repeated }, () => threadId);
        return undefined;
      }
      const sent = await client.command({ type: "thread.send", threadId, text: message }, shell.commandId("send"));
      if (!shell.json) shell.note(threadId);
      if (options.wait === false) {
        shell.answer({ ...sent.result, commit: sent.commit, repeated: sent.repeated }, () => threadId);
        return undefined;
      }
      return awaitRun(
        shell,
        client,
        { threadId, runId: sent.result.runId, after: made.commit - 1, timeoutMs },
        { ...sent.result, commit: sent.commit },
      );
    }),
  );
}

/** The first line, as far as it makes a title. */
function titleOf(message: string): string {
  const [line = ""] = message.trim().split("\n");
  const characters = [...line];
  return characters.length <= 60 ? line : `${characters.slice(0, 59).join("")}…`;
}

/** The project that was named, or the innermost known one that the current folder lies in. */
async function projectFor(client: LocalClient, named: string | undefined): Promise<ProjectId | null> {
  if (named !== undefined) return resolveProject(client, named);
  const here = process.cwd();
  const { projects } = await client.projects();
  const around = projects.filter((p) => here === p.path || here.startsWith(p.path.endsWith("/") ? p.path : `${p.path}/`));
  return around.sort((a, b) => b.path.length - a.path.length)[0]?.id ?? null;
}
