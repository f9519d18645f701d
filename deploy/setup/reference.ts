import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Command } from "commander";
import { chartOf } from "../../actors/chart.ts";
import { renderMermaid } from "../../actors/mermaid.ts";
import { ActorKind } from "../../schemas/ids.ts";
import { demoCommand } from "../../services/cli/commands/demo.ts";
import { exitCode } from "../../services/cli/exit-codes.ts";
import { createProgram } from "../../services/cli/program.ts";
import { openApiDocument } from "../../services/http/openapi.ts";
import { commandAccess } from "../../services/runtime/command-access.ts";
import { documentedRoutes } from "./openapi.ts";

/** Pages of the guide that are read off the sources. Run as a program it writes them (`npm run docs:reference`). */
const guide = new URL("../../docs/guide/", import.meta.url);

/** File name to text, as it must be in `docs/guide/`. */
export function renderReference(): Map<string, string> {
  return new Map([
    ["command-line.md", commandLine()],
    ["statecharts.md", statecharts()],
    ["http-reference.md", httpReference()],
  ]);
}

function commandLine(): string {
  const program = createProgram(() => {});
  program.addCommand(demoCommand());
  const codes = Object.entries(exitCode).map(([name, code]) => `| ${code} | ${name.replaceAll(/([A-Z])/g, " $1").toLowerCase()} |`);
  return `# The command line

Read off the commands themselves. Every command takes the options of \`ropewalk\` itself, \`--json\` among them. Ids may be
shortened to any unique beginning of their last part.

## Exit codes

| code | meaning |
| --- | --- |
${codes.join("\n")}

${section(program, "ropewalk", 2)}`;
}

function section(command: Command, path: string, level: number): string {
  const own = `${"#".repeat(level)} ${path}\n\n\`\`\`text\n${helpOf(command)}\n\`\`\`\n`;
  const below = command.commands.filter((c) => c.name() !== "help").map((c) => section(c, `${path} ${c.name()}`, Math.min(level + 1, 4)));
  return [own, ...below].join("\n");
}

/** The help as a terminal of 100 columns shows it, whatever this one is. */
function helpOf(command: Command): string {
  command.configureOutput({ getOutHelpWidth: () => 100, getOutHasColors: () => false });
  return command.helpInformation().trimEnd();
}

function statecharts(): string {
  const charts = ActorKind.options.map((kind) => `## ${kind}\n\n\`\`\`mermaid\n${renderMermaid(chartOf(kind)).trimEnd()}\n\`\`\`\n`);
  return `# Statecharts

Drawn from the machines that decide what is legal; \`ropewalk charts\` prints the same.

${charts.join("\n")}`;
}

type Parameter = { name: string; in: string; required: boolean };
type Operation = {
  summary: string;
  tags: string[];
  "x-access": string;
  parameters?: Parameter[];
  "x-receipts"?: Record<string, { $ref: string }>;
};

/** Every route, by chapter, from the API's own description. */
function httpReference(): string {
  const { paths } = openApiDocument(documentedRoutes()) as { paths: Record<string, Record<string, Operation>> };
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), ...operation })),
  );
  const chapters = Map.groupBy(operations, ({ tags }) => tags[0] ?? "");
  const query = ({ parameters = [] }: Operation) =>
    parameters.filter((one) => one.in === "query").map(({ name, required }) => (required ? `**${name}**` : name));
  const lines = [...chapters].flatMap(([chapter, all]) => [
    `## ${chapter}\n`,
    "| route | what it does | query | access |\n| --- | --- | --- | --- |",
    ...all.map(
      (one) =>
        `| \`${one.method} ${one.path}\` | ${one.summary} | ${query(one).join(", ") || "–"} | ${one["x-access"].replace("by_command", "the command's")} |`,
    ),
    "",
  ]);
  const commands = operations.flatMap((one) => Object.entries(one["x-receipts"] ?? {}));
  return `# Routes of the HTTP API

Read off the routes themselves; what they take and answer is in [\`openapi.json\`](../openapi.json), how to use them in
[HTTP](http.md). Parameters in bold have to be given.

${lines.join("\n")}
## Commands of \`POST /v1/commands\`

| command | access | receipt in the description |
| --- | --- | --- |
${commands.map(([type, { $ref }]) => `| \`${type}\` | ${commandAccess[type as keyof typeof commandAccess]} | \`${$ref.split("/").at(-1)}\` |`).join("\n")}
`;
}

if (import.meta.main) for (const [name, text] of renderReference()) writeFileSync(new URL(name, guide), text);

/** What is in the folder now. */
export function storedReference(name: string): string {
  return readFileSync(fileURLToPath(new URL(name, guide)), "utf8");
}
