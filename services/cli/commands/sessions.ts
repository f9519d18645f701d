import { join } from "node:path";
import { Command } from "commander";
import type { LocalClient } from "../../http/client.ts";
import { type Found, findSessions, type SessionFolders, sessionFolders } from "../../sessions/find.ts";
import { Adopter } from "../adopt.ts";
import { badInput } from "../failure.ts";
import { rememberNumbers } from "../found-sessions.ts";
import { Progress } from "../progress.ts";
import { online } from "../session.ts";
import { agentNames, unreadableWords } from "../session-words.ts";
import { facts, table } from "../table.ts";
import { oneLine, style } from "../terminal.ts";
import { ago } from "../time.ts";
import { counted } from "../words.ts";

type Options = { limit: string };

export function sessionsCommand(): Command {
  return new Command("sessions")
    .description("sessions that Codex and Claude Code left on this machine, and how to go on with one; nothing of them is changed")
    .option("--limit <n>", "sessions to show, the newest", "20")
    .action(
      online<Options>(async (shell, client, { options }) => {
        const limit = Number(options.limit);
        if (!Number.isInteger(limit) || limit < 1 || limit > 10_000)
          throw badInput("not_a_number", `--limit ${options.limit} is no number of sessions`, "Give a number from 1 to 10000.");
        const folders = sessionFolders(process.env);
        const found = await look(limit);
        const adopter = await Adopter.create(shell, client);
        rememberNumbers(shell.dir, found.sessions);
        const sessions = found.sessions.map((session, place) => ({ number: place + 1, ...session, threadId: adopter.threadOf(session) }));
        shell.answer({ sessions, more: found.more, unreadable: found.unreadable, problems: found.problems, folders }, () =>
          sessions.length === 0
            ? `no sessions of Codex or Claude Code were found${folders.codex === null ? "" : ` below ${folders.codex} and ${folders.claude}`}`
            : table(
                sessions.map((session) => [
                  String(session.number).padStart(2),
                  agentNames[session.agent],
                  oneLine(session.title) || "untitled",
                  counted(session.turns, "turn"),
                  ago(session.changedAt),
                  `${session.folder === null ? "-" : placeOf(session.folder)}${session.threadId === null ? "" : style("dim", "  (a thread already)")}`,
                ]),
                2,
              ),
        );
        if (shell.json) return undefined;
        if (found.more > 0)
          shell.note(`${counted(found.more, "older session")}; see them with: ropewalk sessions --limit ${limit + found.more}`);
        for (const words of unreadableWords(found.unreadable, found.problems)) shell.note(words);
        shell.print(`\n${await whatNext(client, found, folders)}`);
        return undefined;

        async function look(most: number): Promise<Found> {
          const progress = new Progress("looking for sessions");
          try {
            return await findSessions(folders, most, (path) => {
              progress.text = `looking for sessions: ${oneLine(path)}`;
            });
          } finally {
            progress.done();
          }
        }
      }),
    );
}

/** What to type next, with a provider that is there. */
async function whatNext(client: LocalClient, { sessions }: Found, folders: SessionFolders): Promise<string> {
  const { providers } = await client.providers();
  const provider = providers[0]?.instance ?? "codex";
  if (sessions.length === 0) return 'begin with: ropewalk new "what you want done"';
  const all = (["claude", "codex"] as const).flatMap((agent) => {
    const folder = folders[agent];
    if (folder === null || !sessions.some((session) => session.agent === agent)) return [];
    return [`ropewalk import --from ${agent} ${placeOf(join(folder, agent === "codex" ? "sessions" : "projects"))}`];
  });
  return facts([
    ["go on with one:", `ropewalk continue 1 --with ${provider} "what comes next"`],
    ...all.map((command, place): [string, string] => [place === 0 ? "make threads of all:" : "", command]),
  ]);
}

function placeOf(folder: string): string {
  const home = process.env.HOME ?? "";
  const shown = home.length > 1 && (folder === home || folder.startsWith(`${home}/`)) ? `~${folder.slice(home.length)}` : folder;
  return oneLine(shown);
}
