import { Command } from "commander";
import { answerRequest, pick } from "../approvals.ts";
import type { WaitOptions } from "../run-outcome.ts";
import { online } from "../session.ts";

export function okCommand(): Command {
  return new Command("ok")
    .description("allow what a run asks for")
    .argument("<thread|run>", "what asks: id, a unique beginning of it, or @last")
    .argument("[request]", "which request, when several are open")
    .option("--for-session", "and everything of its kind, as long as the agent's session lasts")
    .option("--wait", "then wait for the run and print what it says")
    .option("--timeout <duration>", "how long to wait, like 90s or 5m (exit code 5 then; the run goes on)")
    .action(
      online<WaitOptions & { forSession?: boolean }>((shell, client, given) =>
        answerRequest(shell, client, given, (asked) =>
          pick(given.options.forSession === true ? ["accept_for_session"] : ["accept", "yes", "allow"], asked),
        ),
      ),
    );
}
