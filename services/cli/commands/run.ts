import { Command } from "commander";
import { resolve } from "../references.ts";
import { online } from "../session.ts";
import { shortIds } from "../short-ids.ts";
import { table } from "../table.ts";
import { style } from "../terminal.ts";
import { ago, took } from "../time.ts";
import { runWords } from "../words.ts";

export function runCommand(): Command {
  const command = new Command("run").description("the turns of a thread");
  command
    .command("list")
    .description("a thread's runs, oldest first")
    .argument("<thread>", "id, a unique beginning of it, or @last")
    .action(
      online(async (shell, client, { args: [ref] }) => {
        const threadId = await resolve(client, "thread", ref);
        const { commit, runs } = await client.threadRuns(threadId);
        const short = shortIds(runs.map((r) => r.id));
        shell.answer({ commit, threadId, runs }, () =>
          runs.length === 0
            ? "no runs yet"
            : table(
                runs.map((r) => [
                  String(r.ordinal),
                  style("dim", short.get(r.id) ?? r.id),
                  runWords(r),
                  r.provider?.instance ?? "-",
                  r.endedAt !== null && r.acceptedAt !== null ? took(r.endedAt - r.acceptedAt) : "-",
                  ago(r.createdAt),
                ]),
                2,
              ),
        );
        return undefined;
      }),
    );
  return command;
}
