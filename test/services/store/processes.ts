import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

export type Told = { incarnation: string; previous: string | null; lastCommit: number };

/** A process that has the store of a folder open. Killed when the test is over. */
export async function processOn(dir: string, commits = 0): Promise<Told & { kill(): Promise<void> }> {
  const child = spawn(process.execPath, [fileURLToPath(new URL("./victim.ts", import.meta.url)), dir, String(commits)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => kill(child));
  let told = "";
  for await (const chunk of child.stdout) {
    told += String(chunk);
    if (told.includes("\n")) break;
  }
  return { ...(JSON.parse(told) as Told), kill: () => kill(child) };
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "exit");
}
