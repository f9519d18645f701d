import type { Command } from "commander";
import { badInput } from "../failure.ts";
import { type GrantOptions, grantsOf, grantWords, withGrantOptions } from "../grants.ts";
import { linkId } from "../link-reference.ts";
import { resolve } from "../references.ts";
import { online } from "../session.ts";
import { oneLine } from "../terminal.ts";
import { counted } from "../words.ts";

const reference = ["<link>", "name, id, or a unique beginning of it"] as const;
const why = ["--reason <text>", "why; the other side is told when it comes"] as const;
type Why = { reason?: string };

/** What a person decides about a link that is there. */
export function addTrust(link: Command): void {
  link
    .command("rename")
    .description("call it otherwise, on this side")
    .argument(...reference)
    .argument("<name>", "the new name")
    .action(
      online(async (shell, client, { args: [ref = "", name = ""] }) => {
        const changed = await client.renameLink(await linkId(client, ref), name);
        shell.answer(changed, () => `${changed.linkId} is called ${oneLine(changed.name)}`);
        return undefined;
      }),
    );
  const grant = link
    .command("grant")
    .description("say what the other side may do here from now on: this, and nothing else")
    .argument(...reference);
  withGrantOptions(grant).action(
    online<GrantOptions>(async (shell, client, { args: [ref = ""], options }) => {
      if (options.grant === undefined)
        throw badInput(
          "no_grants",
          "it is not said what the other side may do",
          "Say it with --grant, like --grant spawn,read or --grant none.",
        );
      const changed = await client.grantToLink(await linkId(client, ref), grantsOf(options));
      shell.answer(changed, () => `${oneLine(changed.name)} may ${grantWords(changed.grants)} here`);
      return undefined;
    }),
  );
  link
    .command("revoke")
    .description("trust it no longer: what it runs here is stopped, and nothing travels on it any more")
    .argument(...reference)
    .option(...why)
    .action(
      online<Why>(async (shell, client, { args: [ref = ""], options: { reason } }) => {
        const id = await linkId(client, ref);
        const { result, commit } = await client.command({ type: "link.revoke", linkId: id, ...(reason !== undefined && { reason }) });
        shell.answer({ commit, ...result }, () =>
          [
            `${oneLine(ref)} is ended; ${counted(result.stopped.length, "thread")} of it stopped here`,
            `${counted(result.unsent, "message")} not sent: kept for when the two are paired again, or dropped with: ropewalk link forget --gone`,
          ].join("\n"),
        );
        return undefined;
      }),
    );
  link
    .command("forget")
    .description("give up an environment that never comes back: what waits for it ends, marked so")
    .argument(...reference)
    .option("--gone", "the word that it never comes back")
    .option(...why)
    .action(
      online<Why & { gone?: boolean }>(async (shell, client, { args: [ref = ""], options: { gone, reason } }) => {
        if (gone !== true)
          throw badInput(
            "not_said",
            "forgetting gives up what the other side still has of yours",
            "Say --gone when it never comes back; to trust it no longer: ropewalk link revoke",
          );
        const id = await linkId(client, ref);
        const { result, commit } = await client.command({ type: "link.forget", linkId: id, ...(reason !== undefined && { reason }) });
        const { dropped, dismissedTasks, givenUpRequests, stopped, newThreads } = result;
        shell.answer({ commit, ...result }, () =>
          [
            `${oneLine(ref)} is forgotten; when it comes back it is told so`,
            `${counted(dismissedTasks.length, "task")} dismissed, ${counted(givenUpRequests, "request")} given up, ${counted(stopped.length, "thread")} of it stopped here`,
            `never sent: ${counted(dropped.requests, "request")}, ${counted(dropped.answers, "answer")}, ${counted(dropped.notices, "result or notice")}`,
            ...newThreads.map((id) => `a thread that was on its way there goes on here as ${id}; it may also live there`),
          ].join("\n"),
        );
        return undefined;
      }),
    );
  link
    .command("adopt")
    .description("take over a thread that a link has started: the link may change it no more")
    .argument("<thread>", "id, a unique beginning of it, or @last")
    .action(
      online(async (shell, client, { args: [ref] }) => {
        const { result, commit } = await client.command({ type: "thread.adopt", threadId: await resolve(client, "thread", ref) });
        shell.answer({ commit, ...result }, () => `${result.threadId} is this environment's own now`);
        return undefined;
      }),
    );
  link
    .command("rejoin")
    .description("go on after the two sides have disagreed; do it on both")
    .argument(...reference)
    .action(
      online(async (shell, client, { args: [ref = ""] }) => {
        const { result, commit } = await client.command({ type: "link.rejoin", linkId: await linkId(client, ref) });
        shell.answer({ commit, ...result }, () =>
          [
            `${counted(result.again, "message")} go out again, under their ids; ${counted(result.open.length, "request")} of this side without an answer`,
            ...result.open.map((request) => `  ${request}`),
            "Do the same on the other side; until then nothing travels.",
          ].join("\n"),
        );
        return undefined;
      }),
    );
}
