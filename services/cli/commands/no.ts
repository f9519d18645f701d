import { Command } from "commander";
import { answerRequest, pick } from "../approvals.ts";
import type { WaitOptions } from "../run-outcome.ts";
import { online } from "../session.ts";

export function noCommand(): Command {
  return new Command("no")
    .description("refuse what a run asks for; the run goes on without it")
    .argument("<thread|run>", "what asks: id, a unique beginning of it, or @last")
    .argument("[request]", "which request, when several are open")
    .option("--wait", "then wait for the run and print what it says")
    .option("--timeout <duration>", "how long to wait, like 90s or 5m (exit code 5 then; the run goes on)")
    .action(
      online<WaitOptions>((shell, client, given) => answerRequest(shell, client, given, (asked) => pick(["decline", "no", "deny"], asked))),
    );
}
