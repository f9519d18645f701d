import type { Command } from "commander";
import { EnvironmentUnreachable } from "../http/client/failures.ts";
import { connectLocal, type LocalClient } from "../http/client.ts";
import { logFile, startBackground } from "./background.ts";
import type { ExitCode } from "./exit-codes.ts";
import { failureOf, notReachable } from "./failure.ts";
import { during } from "./progress.ts";
import { Shell } from "./shell.ts";

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

const probeMs = 10_000;
const otherStartMs = 20_000;

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
  try {
    const { pid } = await during("starting the environment", startBackground(shell.dir));
    shell.note(`started the environment in the background (pid ${pid}, log ${logFile(shell.dir)}); stop it with: ropewalk down`);
  } catch (error) {
    // Somebody else has the folder: most likely the same command a moment earlier, which will listen soon.
    if (failureOf(error).refusal.reason !== "store_locked") throw error;
    await during("waiting for the environment that has this folder", untilAnswers(client));
  }
  return client;
}

async function answers(client: LocalClient): Promise<boolean> {
  try {
    await client.environment(probeMs);
    return true;
  } catch (error) {
    if (error instanceof EnvironmentUnreachable) return false;
    throw error;
  }
}

async function untilAnswers(client: LocalClient): Promise<void> {
  const end = performance.now() + otherStartMs;
  while (performance.now() < end) {
    if (await answers(client)) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw notReachable(
    client.dir,
    `another process has the environment's folder ${client.dir}, but does not answer on its socket`,
    "It may be a program that uses ropewalk as a library; stop it, or choose another folder with --dir.",
  );
}
