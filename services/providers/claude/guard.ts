import { type ChildProcess, spawn } from "node:child_process";
import type { Socket } from "node:net";
import { markName } from "./processes.ts";

/**
 * Claude Code goes on with a turn although its input has ended (measured on 2.1.332), so the end of our pipes does not end it.
 * A shell of its own waits for a word of ours; where its input ends without one, we are gone, and it ends the agent and what
 * the agent started.
 */
const script = `
read -r over && exit 0
kill -TERM "$1" 2>/dev/null
n=0
while [ $n -lt 20 ] && kill -0 "$1" 2>/dev/null; do sleep 0.1; n=$((n + 1)); done
kill -KILL "$1" 2>/dev/null
for round in 1 2 3; do for file in /proc/[0-9]*/environ; do
  if tr '\\0' '\\n' <"$file" 2>/dev/null | grep -qx "$2"; then
    pid=\${file#/proc/}
    kill -KILL "\${pid%/environ}" 2>/dev/null
  fi
done; done
`;

/** Watches over a started agent until the returned function is called. Nothing to watch with on Windows. */
export function guard(pid: number | undefined, mark: string): () => void {
  if (pid === undefined || process.platform === "win32") return () => {};
  let watcher: ChildProcess;
  try {
    watcher = spawn("/bin/sh", ["-c", script, "ropewalk-guard", String(pid), `${markName}=${mark}`], {
      env: { PATH: "/usr/bin:/bin" },
      cwd: "/",
      stdio: ["pipe", "ignore", "ignore"],
      detached: true,
    });
  } catch {
    return () => {};
  }
  watcher.on("error", () => {});
  watcher.stdin?.on("error", () => {});
  watcher.unref();
  (watcher.stdin as Socket | null)?.unref();
  return () => void watcher.stdin?.end("over\n");
}
