import { execFile } from "node:child_process";
import { ManagerFailure } from "./service.ts";

const boundMs = 90_000;

/** Runs a program of the system and answers with what it printed. Throws {@link ManagerFailure} with what it complained of. */
export function ask(program: string, args: readonly string[], timeoutMs = boundMs): Promise<string> {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, LC_ALL: "C", SYSTEMD_COLORS: "0", SYSTEMD_PAGER: "" };
    execFile(program, args, { env, timeout: timeoutMs, maxBuffer: 4 * 1024 * 1024 }, (error, stdout, stderr) => {
      if (error === null) return resolve(stdout);
      const told = stderr.trim() || (error.killed ? `no answer within ${timeoutMs / 1_000} s` : error.message);
      reject(new ManagerFailure(told.split("\n").slice(0, 3).join("; ")));
    });
  });
}
