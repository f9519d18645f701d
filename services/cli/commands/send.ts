import { Command } from "commander";
import type { RunId, ThreadId } from "../../../schemas/ids.ts";
import type { ProviderChoice } from "../../../schemas/provider.ts";
import type { LocalClient } from "../../http/client.ts";
import { badInput } from "../failure.ts";
import { type ModeOptions, modesOf, withModeOptions } from "../modes.ts";
import { providerChoice, resolve } from "../references.ts";
import { awaitRun, type WaitOptions, waitBound } from "../run-outcome.ts";
import { online } from "../session.ts";
import { textArgument } from "../text-input.ts";
import { runWords } from "../words.ts";

type Options = WaitOptions & ModeOptions & { with?: string; again?: boolean };

export function sendCommand(): Command {
  const command = new Command("send")
    .description("send a message to a thread and print the answer")
    .argument("<thread>", "id, a unique beginning of it, or @last")
    .argument("[text]", "the message; - reads it from standard input")
    .option("--again", "send the message once more whose run failed or was stopped last")
    .option("--with <instance[:model]>", "who is to answer this message")
    .option("--no-wait", "do not wait for the answer")
    .option("--timeout <duration>", "how long to wait for it, like 90s or 5m (exit code 5 then; the run goes on)");
  return withModeOptions(command).action(
    online<Options>(async (shell, client, { args: [ref, text], options }) => {
      const timeoutMs = waitBound(options);
      const isAgain = options.again === true;
      if (isAgain === (text !== undefined))
        throw badInput("usage", isAgain ? "--again sends the last message; say no other" : "there is no message", "Say TEXT or --again.");
      const given = isAgain ? null : await textArgument(text, "the message");
      const chosen = options.with === undefined ? undefined : providerChoice(options.with);
      const threadId = await resolve(client, "thread", ref);
      const { message, provider = chosen } = given === null ? await lastMessage(client, threadId, chosen) : { message: given };
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

/** The message of a thread's last run, which failed or was stopped; for whom it was meant, unless another is chosen now. */
async function lastMessage(client: LocalClient, threadId: ThreadId, chosen: ProviderChoice | undefined) {
  const { thread } = await client.thread(threadId);
  const [id] = thread.lastOrdinal === 0 ? [] : (await client.resolve("run", { ref: String(thread.lastOrdinal), within: threadId })).ids;
  const run = id === undefined ? null : (await client.run(id as RunId)).run;
  if (run === null || (run.status !== "failed" && run.status !== "interrupted"))
    throw badInput(
      "nothing_to_repeat",
      run === null ? "nothing was sent yet" : `the last run is ${runWords(run)}`,
      "Only what failed or was stopped is sent again; send a message: ropewalk send THREAD TEXT",
    );
  return { message: await client.itemText(run.messageItemId, "content"), provider: chosen ?? run.requested ?? undefined };
}
