import { Command } from "commander";
import { answerRequest } from "../approvals.ts";
import type { WaitOptions } from "../run-outcome.ts";
import { online } from "../session.ts";
import { textArgument } from "../text-input.ts";

export function answerCommand(): Command {
  return new Command("answer")
    .description("answer a question of a run")
    .argument("<thread|run>", "what asks: id, a unique beginning of it, or @last")
    .argument("<text>", "the answer; - reads it from standard input")
    .option("--request <request>", "which request, when several are open")
    .option("--wait", "then wait for the run and print what it says")
    .option("--timeout <duration>", "how long to wait, like 90s or 5m (exit code 5 then; the run goes on)")
    .action(
      online<WaitOptions & { request?: string }>(async (shell, client, { args: [ref, text], options }) => {
        const answer = await textArgument(text, "the answer");
        return answerRequest(shell, client, { args: [ref, options.request], options }, () => answer);
      }),
    );
}
