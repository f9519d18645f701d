import { EnvironmentUnreachable } from "../http/client/failures.ts";
import type { LocalClient } from "../http/client.ts";
import { logFile, startBackground } from "./background.ts";
import { failureOf, notReachable } from "./failure.ts";
import { during } from "./progress.ts";
import { installedService } from "./service/find.ts";
import { ManagerFailure, type ServiceManager } from "./service/service.ts";

const probeMs = 10_000;
const patienceMs = 60_000;

/** How an environment came to run: by its service, by a process of its own, or by somebody else a moment earlier. */
export type Started = {
  by: "service" | "process" | "other";
  pid: number /** Why not by the service that is installed. */;
  note: string | null;
};

/**
 * Starts the environment of a folder and resolves once it answers: by its service where one is installed whose manager can be
 * asked, else in the background, with `options` of `up`.
 */
export async function startFor(client: LocalClient, options: readonly string[] = []): Promise<Started> {
  const service = installedService(client.dir);
  let note: string | null = null;
  if (service !== null) {
    const { manager } = service;
    const why = await manager.unreachable();
    if (why === null) {
      await during(`starting ${manager.name}`, startService(client, manager));
      return { by: "service", pid: await pidOf(client), note };
    }
    note = `${manager.name} is installed, but ${manager.kind} cannot be asked (${why})`;
  }
  try {
    const { pid } = await during("starting the environment", startBackground(client.dir, options));
    return { by: "process", pid, note };
  } catch (error) {
    // Somebody else has the folder: most likely the same command a moment earlier, which will listen soon.
    if (failureOf(error).refusal.reason !== "store_locked") throw error;
    await during("waiting for the environment that has this folder", untilAnswers(client));
    return { by: "other", pid: await pidOf(client), note };
  }
}

/** Has the manager start a service, and waits until the environment answers. Throws when it ends instead. */
export async function startService(client: LocalClient, manager: ServiceManager, start = () => manager.start()): Promise<void> {
  try {
    await start();
  } catch (error) {
    if (!(error instanceof ManagerFailure)) throw error;
    throw notReachable(client.dir, `the service could not be started: ${error.message}`, serviceHint(client.dir));
  }
  await untilAnswers(client, serviceHint(client.dir), async () => {
    const state = await manager.state();
    return state.isRunning ? null : `the service ended at its start: ${state.detail}`;
  });
}

const serviceHint = (dir: string) => `See: ropewalk service status, and ${logFile(dir)}`;

const pidOf = async (client: LocalClient) => (await client.environment(probeMs)).environment.pid;

/** Whether an environment answers on the folder. */
export async function answers(client: LocalClient): Promise<boolean> {
  try {
    await client.environment(probeMs);
    return true;
  } catch (error) {
    if (error instanceof EnvironmentUnreachable) return false;
    throw error;
  }
}

/** Waits for an environment that another process starts. Throws when it does not answer in time, or when `hasEnded` says how it ended. */
async function untilAnswers(
  client: LocalClient,
  hint = "It may be a program that uses ropewalk as a library; stop it, or choose another folder with --dir.",
  hasEnded: () => Promise<string | null> = async () => null,
): Promise<void> {
  const end = performance.now() + patienceMs;
  while (performance.now() < end) {
    if (await answers(client)) return;
    const ended = await hasEnded();
    if (ended !== null) throw notReachable(client.dir, ended, hint);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw notReachable(
    client.dir,
    `another process has the environment's folder ${client.dir}, or should have it, but does not answer on its socket`,
    hint,
  );
}
