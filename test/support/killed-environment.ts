import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

export type Victim = {
  dir: string;
  /** Done one after the other: a command is dispatched, a run's status waited for (the newest run of a thread), a text purged. */
  commands: ({ id?: string; command: unknown } | { until: string; newestRunOf: string } | { purge: string })[];
  /** The boundary (see `onBoundary`) at which the process is killed with -9; a `*` stands for anything. */
  killAt: string;
  /** Which time the boundary is passed; default the first. */
  nth?: number;
  /** When to give up; default 20 seconds. */
  maxMs?: number;
};

/** Runs an environment on a folder in a process of its own, which is killed at a boundary. Throws when it never gets there. */
export async function killedEnvironment(victim: Victim): Promise<void> {
  const script = fileURLToPath(new URL("environment-victim.ts", import.meta.url));
  const child = spawn(process.execPath, [script], {
    env: { ...process.env, ROPEWALK_TEST_VICTIM: JSON.stringify(victim) },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (said += String(chunk)));
  const tooLong = setTimeout(() => child.kill("SIGTERM"), victim.maxMs ?? 20_000);
  const [code, signal] = await once(child, "exit");
  clearTimeout(tooLong);
  if (signal !== "SIGKILL") throw new Error(`the process was not killed at "${victim.killAt}" (code ${code}, signal ${signal}):\n${said}`);
}
