import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

/** An environment as a process of its own, started as a person would start it. */
export type EnvironmentProcess = {
  readonly pid: number;
  /** Ends it and waits: SIGTERM, after five seconds SIGKILL. */
  stop(): Promise<void>;
};

const startMs = 60_000;
const stopMs = 5_000;
/** The launcher, found by the package's own name: sources and the built package have it in the same place. */
const launcher = join(dirname(createRequire(import.meta.url).resolve("ropewalk/package.json")), "bin", "ropewalk.js");

/**
 * `ropewalk up` on a folder, resolved when it listens. Throws with the end of what it said when it does not get there, or
 * when `signal` gives it up meanwhile.
 */
export async function startEnvironmentProcess(dir: string, signal: AbortSignal): Promise<EnvironmentProcess> {
  const log = join(dir, "up.log");
  const fd = openSync(log, "a", 0o600);
  const child = spawn(process.execPath, [launcher, "--dir", dir, "--json", "up"], { stdio: ["ignore", "pipe", fd] });
  closeSync(fd);
  const exited = new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
    child.once("error", () => resolve());
  });
  try {
    await listens(child, exited, signal);
  } catch (error) {
    await stop(child, exited, stopMs);
    signal.throwIfAborted();
    const said = readFileSync(log, "utf8").trim().split("\n").slice(-5).join("\n");
    throw new Error(`the environment in ${dir} did not start: ${(error as Error).message}${said && `\n${said}`}`);
  }
  return { pid: child.pid as number, stop: () => stop(child, exited, stopMs) };
}

/** It says one line once it can be used. */
async function listens(child: ChildProcess, exited: Promise<void>, signal: AbortSignal): Promise<void> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const giveUp = () => reject(signal.reason);
  signal.addEventListener("abort", giveUp, { once: true });
  if (signal.aborted) giveUp();
  const timer = setTimeout(() => reject(new Error(`it was not ready within ${startMs / 1000} s`)), startMs);
  const said = new Promise<void>((resolve) => child.stdout?.once("data", () => resolve()));
  const ended = exited.then(() => {
    throw new Error("it ended at its start");
  });
  try {
    await Promise.race([said, late, ended]);
    // Read on, so that it never waits for a reader.
    child.stdout?.resume();
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", giveUp);
    ended.catch(() => {});
  }
}

async function stop(child: ChildProcess, exited: Promise<void>, patienceMs: number): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGTERM");
  const hard = setTimeout(() => child.kill("SIGKILL"), patienceMs);
  await exited;
  clearTimeout(hard);
}
