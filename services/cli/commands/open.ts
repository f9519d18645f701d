import { spawn } from "node:child_process";
import { once } from "node:events";
import { Command } from "commander";
import { badInput } from "../failure.ts";
import { resolve } from "../references.ts";
import { online } from "../session.ts";

export function openCommand(): Command {
  return new Command("open")
    .description("the folder that a thread works in: prints it, or opens it with a program")
    .argument("<thread>", "id, a unique beginning of it, or @last")
    .option("--with <program>", "start this program on it, as code or a shell")
    .action(
      online<{ with?: string }>(async (shell, client, { args: [ref], options }) => {
        const threadId = await resolve(client, "thread", ref);
        const [{ commit, thread }, { projects }] = await Promise.all([client.thread(threadId), client.projects()]);
        const { workspace } = thread;
        const path = workspace.strategy === "root" ? projects.find((p) => p.id === thread.projectId)?.path : workspace.path;
        if (path == null)
          throw badInput("no_folder_yet", `${threadId} has no folder yet`, "Its first run makes its worktree: send it a message first.");
        if (options.with === undefined) shell.answer({ commit, threadId, path, strategy: workspace.strategy }, () => path);
        else {
          const child = spawn(options.with, [path], { cwd: path, stdio: "inherit" });
          const [code] = (await once(child, "exit").catch((error: Error) => {
            throw badInput("cannot_start", `${options.with} cannot be started: ${error.message}`, "Name a program that is on the PATH.");
          })) as [number | null];
          process.exitCode = code ?? 1;
        }
        return undefined;
      }),
    );
}
