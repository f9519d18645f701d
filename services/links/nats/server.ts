import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

export interface NatsServer {
  /** Such as `nats://127.0.0.1:41234`. */
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** Resolves when the process has ended, whoever ended it. */
  readonly exited: Promise<void>;
  /** Ends it and waits: SIGTERM, after five seconds SIGKILL. `SIGKILL` at once, for tests. */
  stop(signal?: "SIGTERM" | "SIGKILL"): Promise<void>;
}

export class NatsServerFailed extends Error {
  override readonly name = "NatsServerFailed";
}

/**
 * Starts a nats-server with JetStream as a child on loopback and waits until it is ready. `dir` holds its store and its
 * log; `port` is chosen by the server unless given. Throws {@link NatsServerFailed} with the end of its log.
 */
export async function startNatsServer(options: { bin: string; dir: string; port?: number }): Promise<NatsServer> {
  const { bin, dir } = options;
  const ports = join(dir, "ports");
  const log = join(dir, "server.log");
  mkdirSync(ports, { recursive: true, mode: 0o700 });
  const args = [
    "-js",
    "-sd",
    join(dir, "store"),
    "-a",
    "127.0.0.1",
    "-p",
    String(options.port ?? -1),
    "--ports_file_dir",
    ports,
    "-l",
    log,
  ];
  // Nothing of our environment concerns it.
  const child = spawn(bin, args, { stdio: "ignore", env: { PATH: process.env.PATH ?? "" } });
  const exited = new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
    child.once("error", () => resolve());
  });
  try {
    const url = await ready(child, ports);
    const port = Number(new URL(url).port);
    return { url, port, pid: child.pid ?? 0, exited, stop: (signal = "SIGTERM") => stop(child, exited, signal) };
  } catch (error) {
    await stop(child, exited, "SIGKILL");
    const said = existsSync(log) ? readFileSync(log, "utf8").trim().split("\n").slice(-5).join("\n") : "";
    throw new NatsServerFailed(`${bin} did not start: ${error instanceof Error ? error.message : String(error)}${said && `\n${said}`}`);
  }
}

/** It writes the file once it listens; with `-p -1` that is the only place that names the port. */
async function ready(child: ChildProcess, ports: string): Promise<string> {
  let failure: Error | null = null;
  child.once("error", (error) => {
    failure = error;
  });
  const file = () => join(ports, `nats-server_${child.pid}.ports`);
  for (let waited = 0; waited < 10_000; waited += 5) {
    if (failure !== null) throw failure;
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`it ended with ${child.exitCode ?? child.signalCode}`);
    if (child.pid !== undefined && existsSync(file())) {
      const url = readUrl(file());
      if (url !== null) {
        rmSync(file(), { force: true });
        return url;
      }
    }
    await delay(5);
  }
  throw new Error("it was not ready within ten seconds");
}

function readUrl(file: string): string | null {
  try {
    const { nats } = JSON.parse(readFileSync(file, "utf8")) as { nats?: string[] };
    return nats?.[0] ?? null;
  } catch {
    // Half written.
    return null;
  }
}

async function stop(child: ChildProcess, exited: Promise<void>, signal: "SIGTERM" | "SIGKILL"): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  child.kill(signal);
  const hard = setTimeout(() => child.kill("SIGKILL"), 5_000);
  await exited;
  clearTimeout(hard);
}
