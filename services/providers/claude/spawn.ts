import { type ChildProcess, spawn } from "node:child_process";
import type { Writable } from "node:stream";
import { guard } from "./guard.ts";
import { endMarked, endProcess, markName } from "./processes.ts";

export type Exit = { code: number | null; signal: string | null; stderr: string; error?: Error };

/** What the SDK wants started. */
export type SpawnRequest = { command: string; args: string[]; cwd?: string; env: Record<string, string | undefined> };

export type SpawnedAgent = { child: ChildProcess; exited: Promise<Exit>; kill(signal: "SIGTERM" | "SIGKILL"): void };

const stderrTailChars = 4_000;

/** Variables whose value Claude Code also takes from a descriptor, and does not hand on to what it starts. */
const byDescriptor: [variable: string, descriptorVariable: string][] = [
  ["ANTHROPIC_API_KEY", "CLAUDE_CODE_API_KEY_FILE_DESCRIPTOR"],
  ["CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN_FILE_DESCRIPTOR"],
];
const firstDescriptor = 3;

/**
 * Starts Claude Code, in a group of its own so that an interrupt at the terminal reaches it through us alone. Its keys come to
 * it by descriptors, so that they are neither in its environment nor in that of its commands. It does not outlive us, and
 * nothing that it started outlives it.
 */
export function spawnAgent({ command, args, cwd, env }: SpawnRequest, mark: string): SpawnedAgent {
  const { rest, secrets } = process.platform === "win32" ? { rest: { ...env }, secrets: [] } : withoutKeys(env);
  const child = spawn(command, args, {
    ...(cwd !== undefined && { cwd }),
    env: { ...rest, [markName]: mark },
    stdio: ["pipe", "pipe", "pipe", ...secrets.map(() => "pipe" as const)],
    detached: true,
    windowsHide: true,
  });
  const over = guard(child.pid, mark);
  for (const [index, secret] of secrets.entries()) {
    const pipe = child.stdio[firstDescriptor + index] as Writable | null | undefined;
    pipe?.on("error", () => {});
    pipe?.end(secret);
  }
  let stderr = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    stderr = (stderr + text).slice(-stderrTailChars);
  });
  const exited = new Promise<Exit>((resolve) => {
    const settle = async (code: number | null, signal: string | null, error?: Error) => {
      over();
      // What it was killed too fast to end itself.
      await endMarked(mark).catch(() => false);
      resolve({ code, signal, stderr, ...(error && { error }) });
    };
    child.once("error", (error) => {
      if (child.pid === undefined) void settle(null, null, error);
    });
    // `close` comes after the last byte of its output. A grandchild that holds the pipes open must not hide that it is gone.
    child.once("exit", (code, signal) => {
      let settled = false;
      const once = () => {
        if (settled) return;
        settled = true;
        void settle(code, signal);
      };
      child.once("close", once);
      setTimeout(once, 500).unref();
    });
  });
  const kill = (signal: "SIGTERM" | "SIGKILL") => {
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null)
      endProcess(process.platform === "win32" ? child.pid : -child.pid, signal);
  };
  return { child, exited, kill };
}

function withoutKeys(env: Record<string, string | undefined>): { rest: Record<string, string | undefined>; secrets: string[] } {
  const rest = { ...env };
  const secrets: string[] = [];
  for (const [variable, descriptorVariable] of byDescriptor) {
    const value = rest[variable];
    if (value === undefined || value === "" || rest[descriptorVariable] !== undefined) continue;
    delete rest[variable];
    rest[descriptorVariable] = String(firstDescriptor + secrets.length);
    secrets.push(value);
  }
  return { rest, secrets };
}

/** Takes the values of secret-looking variables out of a text that is stored or shown. */
export function redactor(env: Record<string, string>): (text: string) => string {
  const secrets = Object.entries(env)
    .filter(([name, value]) => /KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL/i.test(name) && value.length >= 8)
    .map(([, value]) => value);
  return (text) => secrets.reduce((clean, secret) => clean.replaceAll(secret, "[redacted]"), text);
}
