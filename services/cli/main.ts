import { type Command, CommanderError } from "commander";
import { exitCode } from "./exit-codes.ts";
import { badInput, failureOf } from "./failure.ts";
import { createProgram, leaveErrorsTo } from "./program.ts";
import { tellFailure } from "./tell-failure.ts";

// A reader that has seen enough (`ropewalk ls | head`) closes the pipe; that is no fault.
process.stdout.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? exitCode.ok : exitCode.internal));

let usage = "";
const onUsage = (text: string) => {
  usage = text;
};
const program = createProgram(onUsage);
await addDemo(program);
const typed = process.argv.slice(2);
// Alone, it shows what there is to go on with.
await program.parseAsync(isBare(typed) ? [...typed, "sessions"] : typed, { from: "user" }).catch((error) => {
  process.exitCode = end(error);
});

/** Whether there are options of `ropewalk` itself alone, and no command. */
function isBare(words: readonly string[]): boolean {
  for (let place = 0; place < words.length; place += 1) {
    const word = words[place] ?? "";
    if (word === "--dir" || word === "--request-id") place += 1;
    else if (!/^--(json|no-start|dir=.*|request-id=.*)$/.test(word)) return false;
  }
  return true;
}

function end(error: unknown): number {
  // Help and version were asked for, and are printed.
  if (error instanceof CommanderError && error.exitCode === 0) return exitCode.ok;
  // A noun without its verb: what it can be followed by is the answer.
  const isIncomplete = error instanceof CommanderError && error.code === "commander.help";
  const { refusal, exit } = failureOf(isIncomplete ? badInput("usage", "a command is missing", "Name one; --help lists them.") : error);
  if (process.argv.includes("--json")) process.stdout.write(`${JSON.stringify({ ok: false, refusal })}\n`);
  if (isIncomplete) process.stderr.write(usage);
  tellFailure(refusal);
  return exit;
}

/** The demo is a program of its own size: loaded only where it may be asked for by name, or listed. */
async function addDemo(to: Command): Promise<void> {
  const words = process.argv.slice(2);
  if (!words.some((word) => ["demo", "help", "--help", "-h", "completion"].includes(word))) return;
  const { demoCommand } = await import("./commands/demo.ts");
  const demo = demoCommand();
  leaveErrorsTo(onUsage, demo);
  to.addCommand(demo);
}
