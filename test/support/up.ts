import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { onTestFinished } from "vitest";
import type { PairingOffer } from "../../schemas/client.ts";
import type { EnvironmentId } from "../../schemas/ids.ts";

export const ropewalk = fileURLToPath(new URL("../../bin/ropewalk.js", import.meta.url));

/** The environment of our own processes: nothing of a person's. */
export function plainEnv(more: Record<string, string> = {}): Record<string, string> {
  return { PATH: process.env.PATH ?? "", HOME: "/nonexistent", NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? "", ...more };
}

type Facts = { environmentId: EnvironmentId; url: string; pid: number };

/** `ropewalk up` as a process of its own, listening on loopback. Ended when the test is over. */
export class RunningEnvironment {
  readonly dir: string;
  readonly #flags: string[];
  #child: ChildProcess | null = null;
  #facts: Facts | null = null;

  private constructor(dir: string, flags: string[]) {
    this.dir = dir;
    this.#flags = flags;
  }

  /** `flags`: what `up` is told beside the folder and a port of its own. */
  static async start(dir: string, flags: string[] = []): Promise<RunningEnvironment> {
    const running = new RunningEnvironment(dir, flags);
    onTestFinished(() => running.end("SIGTERM"));
    await running.start();
    return running;
  }

  get id(): EnvironmentId {
    return this.#told.environmentId;
  }

  /** Scheme, host and port at which programs come in. */
  get url(): string {
    return this.#told.url;
  }

  get mcpUrl(): string {
    return `${this.url}/mcp`;
  }

  get #told(): Facts {
    if (this.#facts === null) throw new Error(`nothing runs on ${this.dir}`);
    return this.#facts;
  }

  async start(): Promise<void> {
    const args = [ropewalk, "--dir", this.dir, "--json", "up", "--listen", "127.0.0.1:0", ...this.#flags];
    const child = spawn(process.execPath, args, { env: plainEnv(), stdio: ["ignore", "pipe", "pipe"] });
    this.#child = child;
    let said = "";
    child.stderr.on("data", (chunk) => (said += String(chunk)));
    for await (const line of createInterface(child.stdout)) {
      this.#facts = JSON.parse(line) as Facts;
      return;
    }
    throw new Error(`the environment did not come up: ${said}`);
  }

  async end(signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    const child = this.#child;
    this.#child = null;
    this.#facts = null;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const over = once(child, "exit");
    child.kill(signal);
    await over;
  }

  /** What a person types here, and what the command answers as JSON. Throws what it said when it failed. */
  async cli<T = Record<string, never>>(...args: string[]): Promise<T> {
    const { stdout } = await promisify(execFile)(process.execPath, [ropewalk, "--dir", this.dir, "--json", "--no-start", ...args], {
      env: plainEnv(),
    });
    return JSON.parse(stdout) as T;
  }

  /** The code that `ropewalk client add` prints. */
  async code(...flags: string[]): Promise<string> {
    return (await this.cli<PairingOffer>("client", "add", ...flags)).code;
  }
}
