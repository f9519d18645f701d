import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, closeSync, mkdirSync, openSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { Refusal } from "../../schemas/refusal.ts";
import { type ExitCode, exitCode } from "./exit-codes.ts";
import { CliFailure, notReachable } from "./failure.ts";

/** What a background process tells the one that started it, once. */
export type BackgroundNews =
  | { type: "ready"; pid: number; socket: string; url: string | null }
  | { type: "failed"; refusal: Refusal; exit: ExitCode };

const startMs = 60_000;

export const logFile = (dir: string): string => join(dir, "ropewalk.log");

/** The program's own file, as an absolute path. */
export const ropewalkBin = (): string =>
  join(dirname(createRequire(import.meta.url).resolve("ropewalk/package.json")), "bin", "ropewalk.js");

/**
 * Starts an environment that outlives this process, and resolves once it can be used. Its standard output and error go to
 * the log. `options` are those of `up`. Throws what it failed with.
 */
export async function startBackground(
  dir: string,
  options: readonly string[] = [],
): Promise<{ pid: number; socket: string; url: string | null }> {
  const log = openLogFor(dir);
  const child = spawn(process.execPath, [ropewalkBin(), "--dir", dir, "up", "--as-background", ...options], {
    cwd: dir,
    detached: true,
    stdio: ["ignore", log, log, "ipc"],
    windowsHide: true,
  });
  closeSync(log);
  try {
    const news = await firstNews(dir, child);
    if (news.type === "failed") throw new CliFailure(news.refusal, news.exit);
    return { pid: news.pid, socket: news.socket, url: news.url };
  } finally {
    if (child.connected) child.disconnect();
    child.unref();
  }
}

function firstNews(dir: string, child: ChildProcess): Promise<BackgroundNews> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => {
      child.kill();
      reject(
        notReachable(
          dir,
          `the environment was not ready within ${startMs / 1000} s`,
          `Look into ${logFile(dir)}, or start it in the foreground: ropewalk up`,
        ),
      );
    }, startMs);
    const settle =
      <T>(with_: (value: T) => void) =>
      (value: T) => {
        clearTimeout(late);
        with_(value);
      };
    child.once(
      "message",
      settle((news) => resolve(news as BackgroundNews)),
    );
    child.once("error", settle(reject));
    child.once(
      "exit",
      settle((code: number | null) =>
        reject(
          notReachable(
            dir,
            `the environment ended at its start (${code ?? "killed"})`,
            `Look into ${logFile(dir)}, or start it in the foreground: ropewalk up`,
          ),
        ),
      ),
    );
  });
}

/** The log, opened for appending by its owner alone, in a folder that is made; what is written to standard error lands in it. Its own process rotates it. */
export function openLogFor(dir: string): number {
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    const path = logFile(dir);
    const log = openSync(path, "a", 0o600);
    chmodSync(path, 0o600);
    return log;
  } catch (error) {
    const message = `${dir} cannot be written: ${(error as Error).message}`;
    const hint = "Check the folder's owner and rights, or choose another with --dir.";
    throw new CliFailure({ code: "orchestration_error", reason: "store_unwritable", message, hint }, exitCode.refused);
  }
}
