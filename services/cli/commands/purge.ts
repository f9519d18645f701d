import { Command } from "commander";
import type { ThreadId } from "../../../schemas/ids.ts";
import type { PurgeReport } from "../../../schemas/purge.ts";
import type { ResultOf } from "../../../schemas/results.ts";
import type { LocalClient } from "../../http/client.ts";
import { confirm } from "../confirm.ts";
import { type ExitCode, exitCode } from "../exit-codes.ts";
import { badInput } from "../failure.ts";
import { during } from "../progress.ts";
import { resolve } from "../references.ts";
import { online } from "../session.ts";
import type { Shell } from "../shell.ts";
import { oneLine } from "../terminal.ts";
import { textArgument } from "../text-input.ts";
import { counted } from "../words.ts";

type Options = { match?: string; dryRun?: boolean; yes?: boolean; keepForks?: boolean; stop?: boolean; discardWork?: boolean };
const emptyMs = 600_000;

export function purgeCommand(): Command {
  return new Command("purge")
    .description("remove threads, or a text that should never have been here, for good; says first what goes")
    .argument("[threads...]", "ids, unique beginnings of them, or @last")
    .option("--match <text>", "take this text out of everything that is kept; - reads it from standard input")
    .option("--dry-run", "only say what would go")
    .option("--yes", "do not ask")
    .option("--keep-forks", "also when forks show their history: what they need stays until the last of them is gone")
    .option("--stop", "stop first what runs in them, and their open subagents")
    .option("--discard-work", "also when their worktrees hold work that is nowhere else")
    .action(
      online<Options>(async (shell, client, { args, options }) => {
        // Commander gives what may be repeated as one list.
        const refs = (args[0] ?? []) as readonly string[];
        if ((options.match === undefined) === (refs.length === 0))
          throw badInput(
            "what_to_purge",
            "name threads, or a text with --match",
            "For example: ropewalk purge THREAD, or: ropewalk purge --match -",
          );
        if (options.match === undefined) return purgeThreads(shell, client, refs, options);
        return purgeText(shell, client, await textArgument(options.match, "the text"), options);
      }),
    );
}

async function purgeThreads(shell: Shell, client: LocalClient, refs: readonly string[], options: Options): Promise<undefined> {
  const ids = await Promise.all(refs.map((ref) => resolve(client, "thread", ref)));
  const threads = await Promise.all(ids.map(async (id) => (await client.thread(id)).thread));
  const words = threads.map(
    (thread) =>
      `${oneLine(thread.title) || "untitled"} (${thread.id}): ${counted(thread.lastOrdinal, "run")}, its worktree, checkpoints and record`,
  );
  if (options.dryRun === true) {
    shell.answer({ threads: ids }, () => words.map((line) => `would go: ${line}`).join("\n"));
    return undefined;
  }
  await confirm(shell, { goes: words, question: "remove this for good?", yes: options.yes === true });
  const results: (ResultOf["thread.purge"] & { commit: number })[] = [];
  for (const threadId of ids) {
    const { keepForks, stop, discardWork } = options;
    const command = { type: "thread.purge" as const, threadId, ...said({ keepForks, stop, discardWork }) };
    const { result, commit } = await client.command(command, shell.commandId(threadId));
    await emptied(client, threadId);
    results.push({ ...result, commit });
  }
  shell.answer({ purged: results }, () =>
    results
      .map(({ threadId, keptFor }) =>
        keptFor.length === 0
          ? `${threadId} is gone`
          : `${threadId} goes; what ${counted(keptFor.length, "fork")} show${keptFor.length === 1 ? "s" : ""} of it stays until the last of them is gone`,
      )
      .join("\n"),
  );
  return undefined;
}

const said = (options: Record<string, boolean | undefined>) =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value === true));

/** Emptying follows the commit; whoever types the next command should find it done. */
async function emptied(client: LocalClient, threadId: ThreadId): Promise<void> {
  await during(
    "its content goes",
    (async () => {
      for (const end = performance.now() + emptyMs; performance.now() < end; ) {
        const { purge } = (await client.thread(threadId)).thread;
        if (purge !== undefined && (purge.doneAt !== null || purge.keptUpTo !== null)) return;
        await new Promise((done) => setTimeout(done, 50));
      }
      throw badInput("not_purged_yet", `${threadId} is not empty yet`, "See: ropewalk doctor. It goes on by itself.");
    })(),
  );
}

async function purgeText(shell: Shell, client: LocalClient, text: string, options: Options): Promise<ExitCode | undefined> {
  const { report } = await during("looking for it", client.lookForText(text));
  if (options.dryRun === true) {
    shell.answer(report, () => (isNowhere(report) ? "it is nowhere" : whereItIs(report).join("\n")));
    return undefined;
  }
  if (isNowhere(report)) {
    // Pages that were freed before may still hold it, and nobody looks into those but the purge itself.
    await during("making sure", client.purgeText(text));
    shell.answer(report, () => "it is nowhere");
    return undefined;
  }
  await confirm(shell, { goes: whereItIs(report), question: "take it out for good?", yes: options.yes === true });
  const { report: after } = await during("taking it out", client.purgeText(text));
  const places = after.places.reduce((sum, place) => sum + place.count, 0);
  shell.answer(after, () =>
    [`taken out of ${counted(places, "place")}; a search through every byte finds it no more there`, ...whatIsLeft(after)].join("\n"),
  );
  return after.left.length > 0 ? exitCode.needsYou : undefined;
}

const isNowhere = ({ places, left }: PurgeReport): boolean => places.length === 0 && left.length === 0;

function whereItIs(report: PurgeReport): string[] {
  return [
    ...report.places.map(
      ({ what, name, threadId, count }) =>
        `${what}${name === null ? "" : ` ${oneLine(name)}`}${threadId === null ? "" : ` of ${threadId}`}: ${count}`,
    ),
    ...whatIsLeft(report),
  ];
}

function whatIsLeft({ left, sessions, environments }: PurgeReport): string[] {
  return [
    ...left.map(({ what, name, why, hint }) => `stays: ${what}${name === null ? "" : ` ${oneLine(name)}`}: ${why}. ${hint}`),
    ...sessions.map(
      ({ threadId, instance, nativeId }) =>
        `${instance} keeps its own session ${oneLine(nativeId)} of ${threadId}, which may have been told: delete that session with the provider's own program`,
    ),
    ...environments.map((id) => `${id} may have been told: purge it there too`),
  ];
}
