import type { Command } from "commander";
import { connectLocal, type LocalClient } from "../http/client.ts";
import { logFile } from "./background.ts";
import type { ExitCode } from "./exit-codes.ts";
import { notReachable } from "./failure.ts";
import { Shell } from "./shell.ts";
import { answers, startFor } from "./starting.ts";

/** What was typed: the arguments in order (absent ones undefined), and the options of the command itself. */
export type Given<Options> = { args: (string | undefined)[]; options: Options };
type Handler<Options> = (shell: Shell, given: Given<Options>) => Promise<ExitCode | undefined>;
type OnlineHandler<Options> = (shell: Shell, client: LocalClient, given: Given<Options>) => Promise<ExitCode | undefined>;

/** An action that needs no running environment. What it returns becomes the exit code. */
export function offline<Options = object>(handler: Handler<Options>): (...all: unknown[]) => Promise<void> {
  return async (...all) => {
    const command = all.at(-1) as Command;
    const given = { args: all.slice(0, -2) as (string | undefined)[], options: all.at(-2) as Options };
    process.exitCode = (await handler(Shell.of(command), given)) ?? process.exitCode;
  };
}

/** An action on the running environment; one is started in the background when there is none. */
export function online<Options = object>(handler: OnlineHandler<Options>): (...all: unknown[]) => Promise<void> {
  return offline<Options>(async (shell, given) => {
    const client = await connected(shell);
    try {
      return await handler(shell, client, given);
    } finally {
      client.close();
    }
  });
}

/** A client of an environment that answers. */
async function connected(shell: Shell): Promise<LocalClient> {
  const client = connectLocal(shell.dir);
  if (await answers(client)) return client;
  if (!shell.mayStart)
    throw notReachable(
      shell.dir,
      `no environment is running on ${shell.dir}`,
      "Start it with: ropewalk up --detach, or leave --no-start out.",
    );
  const { by, pid, note } = await startFor(client);
  if (note !== null) shell.note(note);
  if (by === "process")
    shell.note(`started the environment in the background (pid ${pid}, log ${logFile(shell.dir)}); stop it with: ropewalk down`);
  if (by === "service")
    shell.note(`started the environment's service (pid ${pid}, log ${logFile(shell.dir)}); stop it with: ropewalk down`);
  return client;
}
