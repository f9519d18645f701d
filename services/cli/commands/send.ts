import { Command } from "commander";
import { type ModeOptions, modesOf, withModeOptions } from "../modes.ts";
import { providerChoice, resolve } from "../references.ts";
import { awaitRun, type WaitOptions, waitBound } from "../run-outcome.ts";
import { online } from "../session.ts";
import { textArgument } from "../text-input.ts";

type Options = WaitOptions & ModeOptions & { with?: string };

export function sendCommand(): Command {
  const command = new Command("send")
    .description("send a message to a thread and print the answer")
    .argument("<thread>", "id, a unique beginning of it, or @last")
    .argument("<text>", "the message; - reads it from standard input")
    .option("--with <instance[:model]>", "who is to answer this message")
    .option("--no-wait", "do not wait for the answer")
    .option("--timeout <duration>", "how long to wait for it, like 90s or 5m (exit code 5 then; the run goes on)");
  return withModeOptions(command).action(
    online<Options>(async (shell, client, { args: [ref, text], options }) => {
      const timeoutMs = waitBound(options);
      const message = await textArgument(text, "the message");
      const provider = options.with === undefined ? undefined : providerChoice(options.with);
      const threadId = await resolve(client, "thread", ref);
      const { result, commit, repeated } = await client.command(
        { type: "thread.send", threadId, text: message, ...modesOf(options), ...(provider !== undefined && { provider }) },
        shell.commandId(),
      );
      if (options.wait === false) {
        shell.answer({ ...result, commit, repeated }, () => `sent; see the answer with: ropewalk show ${threadId}`);
        return undefined;
      }
      return awaitRun(shell, client, { threadId, runId: result.runId, after: commit - 1, timeoutMs }, { ...result, commit, repeated });
    }),
  );
}
