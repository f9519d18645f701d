import { readFileSync } from "node:fs";
import { Command } from "commander";
import { EnvironmentUnreachable } from "../../http/client/failures.ts";
import { connectLocal } from "../../http/client.ts";
import { exitCode } from "../exit-codes.ts";
import { during } from "../progress.ts";
import { offline } from "../session.ts";

const patienceMs = 30_000;

export function downCommand(): Command {
  return new Command("down")
    .description("stop the environment that runs in the background; runs that are under way are settled at its next start")
    .action(
      offline(async (shell) => {
        const client = connectLocal(shell.dir);
        try {
          const { pid } = await client.shutdown();
          if (!(await during("stopping the environment", untilGone(pid)))) {
            shell.answer({ stopped: false, pid }, () => `the environment (pid ${pid}) is still stopping`);
            return exitCode.waitBound;
          }
          shell.answer({ stopped: true, pid }, () => "stopped");
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

async function untilGone(pid: number): Promise<boolean> {
  const end = performance.now() + patienceMs;
  while (performance.now() < end) {
    if (!isAlive(pid)) return true;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return false;
}

/** A process that has ended counts as gone also while nobody has taken note of its end (a zombie). */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
  try {
    return !/^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return true;
  }
}
