import { existsSync } from "node:fs";
import { type Command, CommanderError } from "commander";
import { exitCode } from "./exit-codes.ts";
import { failureOf } from "./failure.ts";
import { createProgram } from "./program.ts";
import { tellFailure } from "./tell-failure.ts";

// A reader that has seen enough (`ropewalk ls | head`) closes the pipe; that is no fault.
process.stdout.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? exitCode.ok : exitCode.internal));

const program = createProgram();
await addDemo(program);
try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = end(error);
}

function end(error: unknown): number {
  // Help and version were asked for, and are printed.
  if (error instanceof CommanderError && error.exitCode === 0) return exitCode.ok;
  const { refusal, exit } = failureOf(error);
  if (process.argv.includes("--json")) process.stdout.write(`${JSON.stringify({ ok: false, refusal })}\n`);
  tellFailure(refusal);
  return exit;
}

/** The demo is a program of its own size: loaded only where it may be asked for by name, or listed. */
async function addDemo(to: Command): Promise<void> {
  const words = process.argv.slice(2);
  if (words.length > 0 && !words.some((word) => ["demo", "help", "--help", "-h", "completion"].includes(word))) return;
  const file = new URL(`./commands/demo${import.meta.url.slice(-3)}`, import.meta.url);
  if (!existsSync(file)) return;
  const { demoCommand } = (await import(file.href)) as { demoCommand(): Command };
  to.addCommand(demoCommand());
}
