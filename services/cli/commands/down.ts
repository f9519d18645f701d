import { Command } from "commander";
import { EnvironmentUnreachable } from "../../http/client/failures.ts";
import { connectLocal, type LocalClient } from "../../http/client.ts";
import { exitCode } from "../exit-codes.ts";
import { during } from "../progress.ts";
import { installedService } from "../service/find.ts";
import { offline } from "../session.ts";
import { startService } from "../starting.ts";
import { untilGone } from "../until-gone.ts";

export function downCommand(): Command {
  return new Command("down")
    .description("stop the environment that runs in the background; runs that are under way are settled at its next start")
    .action(
      offline(async (shell) => {
        const client = connectLocal(shell.dir);
        try {
          const { pid } = await shutDown(client);
          if (!(await during("stopping the environment", untilGone(pid)))) {
            shell.answer({ stopped: false, pid }, () => `the environment (pid ${pid}) is still stopping`);
            return exitCode.waitBound;
          }
          const service = installedService(shell.dir)?.manager.name ?? null;
          shell.answer({ stopped: true, pid, service }, () =>
            service === null
              ? "stopped"
              : `stopped; ${service} is started again at the next login, or by a command (ropewalk service remove)`,
          );
        } catch (error) {
          if (!(error instanceof EnvironmentUnreachable)) throw error;
          shell.answer({ stopped: false }, () => `no environment is running on ${shell.dir}`);
        } finally {
          client.close();
        }
        return exitCode.ok;
      }),
    );
}

/** One whose service has just started it does not answer yet: it is waited for, and then stopped. */
async function shutDown(client: LocalClient): ReturnType<LocalClient["shutdown"]> {
  try {
    return await client.shutdown();
  } catch (error) {
    const manager = installedService(client.dir)?.manager ?? null;
    if (!(error instanceof EnvironmentUnreachable) || manager === null) throw error;
    if ((await manager.unreachable()) !== null || !(await manager.state()).isRunning) throw error;
    await during(
      `waiting for ${manager.name}, which is starting`,
      startService(client, manager, async () => {}),
    );
    return client.shutdown();
  }
}
