import { resolve as absolute } from "node:path";
import { Command } from "commander";
import { badInput } from "../failure.ts";
import { resolve } from "../references.ts";
import { online } from "../session.ts";
import { shortIds } from "../short-ids.ts";
import { facts, table } from "../table.ts";
import { oneLine, style } from "../terminal.ts";
import { sizeWords } from "../words.ts";

export function projectCommand(): Command {
  const command = new Command("project").description("folders that threads work in");
  command
    .command("add")
    .description("make a folder known; the same folder or repository again is the project that is there already")
    .argument("<path>", "the folder")
    .option("--name <name>", "what to call it; without: the folder's name")
    .action(
      online<{ name?: string }>(async (shell, client, { args: [path = ""], options }) => {
        if (path === "") throw badInput("no_folder", "the folder's name is empty", "Name an existing folder.");
        const { result, commit, repeated } = await client.command(
          { type: "project.add", path: absolute(path), ...(options.name !== undefined && { name: options.name }) },
          shell.commandId(),
        );
        shell.answer({ ...result, commit, repeated }, () => result.projectId);
        if (!shell.json && !result.created) shell.note("it was known already");
        return undefined;
      }),
    );
  command
    .command("list")
    .description("the projects that are known")
    .action(
      online(async (shell, client) => {
        const { commit, projects } = await client.projects();
        const short = shortIds(projects.map((p) => p.id));
        shell.answer({ commit, projects }, () =>
          projects.length === 0
            ? "no projects yet"
            : table(
                projects.map((p) => [
                  oneLine(p.path),
                  style("dim", short.get(p.id) ?? p.id),
                  oneLine(p.name),
                  oneLine(p.repository?.value ?? "no repository"),
                ]),
              ),
        );
        return undefined;
      }),
    );
  command
    .command("set")
    .description("how worktrees of a project are made; what is not named stays as it is")
    .argument("<project>", "id, or a unique beginning of it")
    .option("--setup <command>", "run this in each new worktree, before its thread's first run")
    .option("--no-setup", "run nothing")
    .option("--carry <patterns...>", "ignored files that each new worktree is given, as .env or 'config/*.local'")
    .option("--no-carry", "give it none")
    .action(
      online<{ setup?: string | false; carry?: string[] | false }>(async (shell, client, { args: [ref], options: { setup, carry } }) => {
        const projectId = await resolve(client, "project", ref);
        const { result, commit, repeated } = await client.command(
          {
            type: "project.configure",
            projectId,
            ...(setup !== undefined && { setup: setup === false ? null : setup }),
            ...(carry !== undefined && { carry: carry === false ? [] : carry }),
          },
          shell.commandId(),
        );
        const { worktrees } = result;
        shell.answer({ ...result, commit, repeated }, () =>
          facts([
            ["setup", worktrees.setup === null ? "nothing is run" : oneLine(worktrees.setup)],
            ["carried", worktrees.carry.map(oneLine).join(", ") || "nothing that is ignored"],
          ]),
        );
        return undefined;
      }),
    );
  command
    .command("worktrees")
    .description("the worktrees of threads, and what they take on the disk")
    .action(
      online(async (shell, client) => {
        const { commit, workspaces } = await client.workspaces();
        const short = shortIds(workspaces.worktrees.map((w) => w.threadId));
        shell.answer({ commit, workspaces }, () =>
          workspaces.worktrees.length === 0
            ? "no worktrees"
            : table(
                workspaces.worktrees.map((w) => [
                  style("dim", short.get(w.threadId) ?? w.threadId),
                  `${w.isWhole ? "" : "more than "}${sizeWords(w.bytes)}`,
                  oneLine(w.path),
                ]),
              ),
        );
        return undefined;
      }),
    );
  return command;
}
