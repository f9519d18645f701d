import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Command } from "commander";
import { chartOf } from "../../actors/chart.ts";
import { renderMermaid } from "../../actors/mermaid.ts";
import { ActorKind } from "../../schemas/ids.ts";
import { demoCommand } from "../../services/cli/commands/demo.ts";
import { exitCode } from "../../services/cli/exit-codes.ts";
import { createProgram } from "../../services/cli/program.ts";

/** Pages of the guide that are read off the sources. Run as a program it writes them (`npm run docs:reference`). */
const guide = new URL("../../docs/guide/", import.meta.url);

/** File name to text, as it must be in `docs/guide/`. */
export function renderReference(): Map<string, string> {
  return new Map([
    ["command-line.md", commandLine()],
    ["statecharts.md", statecharts()],
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

if (import.meta.main) for (const [name, text] of renderReference()) writeFileSync(new URL(name, guide), text);

/** What is in the folder now. */
export function storedReference(name: string): string {
  return readFileSync(fileURLToPath(new URL(name, guide)), "utf8");
}
