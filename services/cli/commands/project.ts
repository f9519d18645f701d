import { resolve as absolute } from "node:path";
import { Command } from "commander";
import { badInput } from "../failure.ts";
import { online } from "../session.ts";
import { shortIds } from "../short-ids.ts";
import { table } from "../table.ts";
import { oneLine, style } from "../terminal.ts";

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
  return command;
}
