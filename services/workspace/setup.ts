import { spawn } from "node:child_process";

/** How long a setup command may take. */
const setupMs = 15 * 60_000;
const keptChars = 4_000;

export type SetupEnd = { ok: true } | { ok: false; why: string; output: string };

/**
 * Runs a project's setup command in a new worktree, by the system's shell. Ends it, with all that it started, when it takes
 * too long or the environment stops.
 */
export function runSetup(command: string, folder: string, root: string, signal: AbortSignal): Promise<SetupEnd> {
  return new Promise((resolve) => {
    const env = { ...withoutGit(), ROPEWALK_PROJECT: root, ROPEWALK_WORKTREE: folder };
    const child = spawn("/bin/sh", ["-c", command], { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"], detached: true });
    let output = "";
    let why: string | null = null;
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => {
        output = (output + chunk.toString("utf8")).slice(-keptChars);
      });
    const stop = (reason: string) => {
      why ??= reason;
      try {
        if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
      } catch {
        // It has ended meanwhile.
      }
    };
    const timer = setTimeout(() => stop(`it was not done after ${setupMs / 60_000} min`), setupMs);
    const aborted = () => stop("the environment stopped");
    signal.addEventListener("abort", aborted, { once: true });
    const end = (result: SetupEnd) => {
      clearTimeout(timer);
      signal.removeEventListener("abort", aborted);
      resolve(result);
    };
    child.on("error", (error) => end({ ok: false, why: error.message, output }));
    child.on("close", (code) => {
      if (why === null && code === 0) end({ ok: true });
      else end({ ok: false, why: why ?? `it ended with ${code === null ? "a signal" : `code ${code}`}`, output: output.toWellFormed() });
    });
    if (signal.aborted) aborted();
  });
}

/** A person's environment, without what tells git where it works: the command works in the worktree. */
function withoutGit(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("GIT_")));
}
