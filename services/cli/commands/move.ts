import { Command } from "commander";
import type { LocalClient } from "../../http/client.ts";
import { badInput } from "../failure.ts";
import { awaitMove } from "../move-outcome.ts";
import { providerChoice, resolve, resolvePeer } from "../references.ts";
import { type WaitOptions, waitBound } from "../run-outcome.ts";
import { online } from "../session.ts";
import type { Shell } from "../shell.ts";
import { textArgument } from "../text-input.ts";

type Options = WaitOptions & { to?: string; prompt?: string; with?: string; withoutCode?: boolean; cancel?: boolean };
const usualMs = 60_000;

export function moveCommand(): Command {
  return new Command("move")
    .description("move a thread to a linked environment, which goes on with it; here it can still be read")
    .argument("<thread>", "id, a unique beginning of it, or @last")
    .option("--to <environment>", "where to (the link's name, or an id)")
    .option("--prompt <text>", "what to go on with there; - reads it from standard input")
    .option("--with <instance[:model]>", "who is to serve it there; without: who serves it here")
    .option("--without-code", "the conversation alone, although its project is a repository")
    .option("--cancel", "take back a move that is under way")
    .option("--no-wait", "do not wait until it is decided")
    .option("--timeout <duration>", "how long to wait, like 90s or 5m (exit code 5 then; it goes on)")
    .action(
      online<Options>(async (shell, client, { args: [ref], options }) => {
        const timeoutMs = waitBound(options) ?? usualMs;
        if (options.cancel === true) return cancel(shell, client, ref, options);
        if (options.to === undefined) throw badInput("no_environment", "move needs --to ENVIRONMENT", "See: ropewalk link list");
        const continuationPrompt = options.prompt === undefined ? undefined : await textArgument(options.prompt, "the prompt");
        const provider = options.with === undefined ? undefined : providerChoice(options.with);
        const { environmentId } = await resolvePeer(client, options.to);
        const threadId = await resolve(client, "thread", ref);
        const { result, commit, repeated } = await client.command(
          {
            type: "thread.move",
            threadId,
            environmentId,
            ...(continuationPrompt !== undefined && { continuationPrompt }),
            ...(provider !== undefined && { provider }),
            ...(options.withoutCode === true && { withoutCode: true }),
          },
          shell.commandId(),
        );
        const about = { ...result, commit, repeated };
        if (options.wait !== false) return awaitMove(shell, client, result.moveId, timeoutMs, about);
        shell.answer(about, () => result.moveId);
        return undefined;
      }),
    );
}

async function cancel(shell: Shell, client: LocalClient, ref: string | undefined, options: Options) {
  if (options.to !== undefined) throw badInput("to_and_cancel", "--to and --cancel are two things", "Leave one of them out.");
  const threadId = await resolve(client, "thread", ref);
  const { result, commit, repeated } = await client.command({ type: "thread.move_cancel", threadId }, shell.commandId());
  shell.answer({ ...result, commit, repeated }, () =>
    result.outcome === "cancelled"
      ? "taken back; the thread stays here"
      : "the other environment is asked to take it no more; what it has decided stands",
  );
  return undefined;
}
