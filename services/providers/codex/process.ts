import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import type { Clock } from "../../runtime/ports/clock.ts";
import { within } from "../abortable.ts";
import type { ProviderFailure } from "../contract.ts";
import { failure } from "./failure.ts";
import { type RpcHandlers, RpcPeer } from "./rpc.ts";

/** What is started, and how. `env` is the whole environment of the process. */
export type Launch = { bin: string; args: string[]; env: Record<string, string>; cwd: string };
export type Exit = { code: number | null; signal: string | null; error?: Error };

/** A started app-server, as far as it is used; a test puts a recording in its place. */
export type AppServerChild = {
  stdin: Writable;
  stdout: Readable;
  stderr: Readable;
  exited: Promise<Exit>;
  kill(signal: "SIGTERM" | "SIGKILL"): void;
};
export type StartChild = (launch: Launch) => AppServerChild;

const stderrTailChars = 4_000;
/** How long each way of ending is given before the next, harder one. */
const stopStepMs = 2_000;

/**
 * One app-server process. It ends when its standard input does, so it does not outlive us even when we are killed; `stop`
 * goes on to SIGTERM and SIGKILL where that is not enough.
 */
export class CodexProcess {
  readonly peer: RpcPeer;
  /** Resolves, with the failure to tell, once the process has ended. */
  readonly ended: Promise<ProviderFailure>;
  readonly #child: AppServerChild;
  readonly #clock: Clock;
  readonly #redact: (text: string) => string;
  #stderr = "";

  constructor(start: StartChild, launch: Launch, handlers: RpcHandlers, clock: Clock) {
    this.#clock = clock;
    this.#redact = redactor(launch.env);
    this.#child = start(launch);
    this.#child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-stderrTailChars);
    });
    this.peer = new RpcPeer({ input: this.#child.stdout, output: this.#child.stdin }, handlers, clock);
    this.ended = this.#child.exited.then((exit) => {
      const cause = this.#endedBy(exit, launch);
      this.peer.end(cause);
      return cause;
    });
  }

  /** Takes the values of secret-looking variables out of a text that is stored or shown. */
  redact(text: string): string {
    return this.#redact(text);
  }

  /** Ends the process; resolves when it is gone. */
  async stop(): Promise<void> {
    this.#child.stdin.end();
    if (await this.#gone(stopStepMs)) return;
    this.#child.kill("SIGTERM");
    if (await this.#gone(stopStepMs)) return;
    await this.kill();
  }

  /** Ends the process at once, as one that does not answer must be. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#gone(stopStepMs);
  }

  #gone(ms: number): Promise<boolean> {
    return within((wait, callback) => this.#clock.after(wait, callback), ms, this.#child.exited);
  }

  #endedBy(exit: Exit, launch: Launch): ProviderFailure {
    if (exit.error) {
      return failure(
        "provider_not_started",
        `Codex could not be started (${launch.bin}): ${exit.error.message}`,
        "See that the file can be run.",
        {
          cause: exit.error,
        },
      );
    }
    const stderr = this.#redact(plain(this.#stderr));
    // Who was killed had no last word: what is on standard error then is old.
    const lastLine = exit.signal === null ? stderr.split("\n").findLast((line) => line.trim() !== "") : undefined;
    const how = exit.signal === null ? `with exit code ${exit.code}` : `by ${exit.signal}`;
    const message = `The Codex process ended ${how}${lastLine === undefined ? "." : `: ${lastLine.trim()}`}`;
    return failure("provider_process_died", message, "Send again: Codex is started anew and goes on with the same conversation.", {
      details: { exitCode: exit.code, signal: exit.signal, stderr },
    });
  }
}

/** Starts the real process, in a group of its own so that an interrupt at the terminal reaches it through us alone. */
export const startChild: StartChild = ({ bin, args, env, cwd }) => {
  mkdirSync(cwd, { recursive: true });
  const child = spawn(bin, args, { env, cwd, stdio: ["pipe", "pipe", "pipe"], detached: true, windowsHide: true });
  const exited = new Promise<Exit>((resolve) => {
    child.once("error", (error) => {
      if (child.pid === undefined) resolve({ code: null, signal: null, error });
    });
    // `close` comes after the last byte of its output, so nothing that it said is lost. A grandchild that holds the pipes open
    // must not hide that it is gone.
    child.once("exit", (code, signal) => {
      const settle = () => resolve({ code, signal });
      child.once("close", settle);
      setTimeout(settle, 500).unref();
    });
  });
  return { stdin: child.stdin, stdout: child.stdout, stderr: child.stderr, exited, kill: (signal) => killGroup(child.pid, signal) };
};

function killGroup(pid: number | undefined, signal: "SIGTERM" | "SIGKILL"): void {
  if (pid === undefined) return;
  try {
    process.kill(process.platform === "win32" ? pid : -pid, signal);
  } catch {
    // Gone already.
  }
}

/** Without colours. */
function plain(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences are what is taken out
  return text.replaceAll(/\u001b\[[0-9;]*m/g, "").trim();
}

function redactor(env: Record<string, string>): (text: string) => string {
  const secrets = Object.entries(env)
    .filter(([name, value]) => /KEY|TOKEN|SECRET|PASSWORD/i.test(name) && value.length >= 8)
    .map(([, value]) => value);
  return (text) => secrets.reduce((clean, secret) => clean.replaceAll(secret, "[redacted]"), text);
}
