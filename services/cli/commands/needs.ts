import { Command } from "commander";
import type { Need } from "../../../schemas/need.ts";
import type { LocalClient } from "../../http/client.ts";
import { exitCode } from "../exit-codes.ts";
import { untilInterrupted } from "../interrupt.ts";
import { online } from "../session.ts";
import type { Shell } from "../shell.ts";
import { shortReferences } from "../short-references.ts";
import { table } from "../table.ts";
import { oneLine, style } from "../terminal.ts";
import { ago } from "../time.ts";
import { needWords } from "../words.ts";

export function needsCommand(): Command {
  return new Command("needs")
    .description("everything that waits for you, and what to type (exit code 10 while there is something)")
    .option("--watch", "go on, and show the list again whenever it changes")
    .action(
      online<{ watch?: boolean }>(async (shell, client, { options }) => {
        const { commit, needs } = await client.needs();
        await tell(shell, client, commit, needs);
        const last = options.watch === true ? await watch(shell, client, commit, needs) : needs;
        return last.length > 0 ? exitCode.needsYou : exitCode.ok;
      }),
    );
}

/** Until it is interrupted. What is a matter of time alone is looked at whenever the feed says that it is alive. */
async function watch(shell: Shell, client: LocalClient, commit: number, before: Need[]): Promise<Need[]> {
  let last = before;
  await untilInterrupted(async (signal) => {
    for await (const _ of client.feed({ after: commit, signal })) {
      const { commit, needs } = await client.needs();
      if (JSON.stringify(needs) === JSON.stringify(last)) continue;
      last = needs;
      if (!shell.json) shell.note(new Date().toLocaleTimeString());
      await tell(shell, client, commit, needs);
    }
  });
  return last;
}

async function tell(shell: Shell, client: LocalClient, commit: number, needs: Need[]): Promise<void> {
  if (shell.json) return shell.answer({ commit, needs }, () => "");
  if (needs.length === 0) return shell.print("nothing needs you");
  const short = await shortReferences(
    client,
    needs.flatMap((need) => need.act),
  );
  const now = Date.now();
  shell.print(
    table(
      needs.map(({ kind, title, why, since, act }) => [
        oneLine(why),
        style("yellow", needWords[kind]),
        oneLine(title) || "untitled",
        ago(since, now),
        style("bold", `ropewalk ${act.map((part) => short.get(part) ?? part).join(" ")}`),
      ]),
    ),
  );
}
