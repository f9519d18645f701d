import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { connectLocal } from "../../services/http/client.ts";

const bin = fileURLToPath(new URL("../../bin/ropewalk.js", import.meta.url));

/** What a process took of a processor over a while, and how often it went to sleep again. */
export type Idle = { percent: number; wakeups: number };

/** Processor time in milliseconds, as the kernel counts it (in hundredths of a second), of all threads, ended ones too. */
function busyMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /s, "")
    .split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

function switches(pid: number): number {
  return readdirSync(`/proc/${pid}/task`)
    .map((task) => /^voluntary_ctxt_switches:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/task/${task}/status`, "utf8"))?.[1] ?? 0)
    .reduce<number>((sum, n) => sum + Number(n), 0);
}

/** Looks at several processes over the same while. */
export async function watchIdle(pids: readonly number[], ms: number): Promise<Idle[]> {
  const before = pids.map((pid) => ({ busy: busyMs(pid), switched: switches(pid) }));
  await delay(ms);
  return pids.map((pid, at) => ({
    percent: ((busyMs(pid) - (before[at]?.busy ?? 0)) / ms) * 100,
    wakeups: (switches(pid) - (before[at]?.switched ?? 0)) / (ms / 1_000),
  }));
}

/** A process that runs while `work` does. It is told ready by its first line. */
async function withProcess<T>(args: readonly string[], work: (child: ChildProcess) => Promise<T>): Promise<T> {
  const child = spawn(process.execPath, args, {
    env: { PATH: process.env.PATH, HOME: "/nonexistent" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const over = once(child, "exit");
  try {
    await once(createInterface(child.stdout), "line");
    return await work(child);
  } finally {
    child.kill("SIGTERM");
    await over;
  }
}

/** `ropewalk up`, with its listener on the network, until its link (if it has one) is online. */
export const withUp = <T>(dir: string, work: (pid: number) => Promise<T>): Promise<T> =>
  withProcess([bin, "--dir", dir, "--json", "up", "--listen", "127.0.0.1:0"], (child) => work(child.pid ?? 0));

/** A bare process of this Node with one socket that listens, and nothing to do. */
export const withBare = <T>(work: (pid: number) => Promise<T>): Promise<T> =>
  withProcess(
    [
      "-e",
      `require("net").createServer().listen(0, "127.0.0.1", () => console.log("ready")); process.on("SIGTERM", () => process.exit(0))`,
    ],
    (child) => work(child.pid ?? 0),
  );

/** Waits until a folder's environment says that its only link is online. */
export async function linkOnline(dir: string): Promise<void> {
  const client = connectLocal(dir);
  try {
    for (const end = performance.now() + 60_000; ; await delay(100)) {
      const { links } = await client.links();
      if (links.length > 0 && links.every((link) => link.status === "online")) return;
      if (performance.now() > end) throw new Error(`the link did not come up: ${JSON.stringify(links)}`);
    }
  } finally {
    client.close();
  }
}
