import { Command } from "commander";
import { badInput } from "../failure.ts";
import { resolve } from "../references.ts";
import { online } from "../session.ts";
import { Shell } from "../shell.ts";

export function attachCommand(): Command {
  const act = online(async (shell, client, { args: [ref] }) => {
    const threadId = await resolve(client, "thread", ref);
    const { attach } = await import("../attach/attach.ts");
    return attach(shell, client, threadId);
  });
  return new Command("attach")
    .description("talk to a thread in this terminal, live; it goes on when you leave")
    .argument("<thread>", "id, a unique beginning of it, or @last")
    .action((...all: unknown[]) => {
      needsTerminal(Shell.of(all.at(-1) as Command), String(all[0]));
      return act(...all);
    });
}

/** Told before anything is started. */
function needsTerminal({ json }: Shell, ref: string): void {
  if (!json && process.stdin.isTTY === true && process.stdout.isTTY === true && process.env.TERM !== "dumb") return;
  const message = json ? "attach is for a person at a terminal, not for --json" : "attach needs a terminal to type and to read in";
  throw badInput("no_terminal", message, `From a program: ropewalk send ${ref} TEXT, ropewalk show ${ref}.`);
}
