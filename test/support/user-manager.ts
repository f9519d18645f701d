import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "./until.ts";

const program = "/lib/systemd/systemd";

/**
 * In namespaces of its own: /run/systemd says that systemd is here, the only hierarchy of control groups is a new one, and
 * no other process is to be seen. A manager that saw this machine's own would take all of its processes under itself.
 */
const outside = `
set -e
mount --make-rprivate /
mkdir -p /run/systemd
mount -t tmpfs tmpfs /run/systemd
mkdir /run/systemd/system
mount -t tmpfs tmpfs /sys/fs/cgroup
mkdir /sys/fs/cgroup/systemd
mount -t cgroup -o "none,name=$1" cgroup /sys/fs/cgroup/systemd
set +e
trap 'kill $!' TERM
unshare --pid --fork --kill-child --mount-proc sh -c "$2" &
wait $!
wait $!
find /sys/fs/cgroup/systemd -mindepth 1 -depth -type d -exec rmdir {} + 2>/dev/null
# A hierarchy goes with its last mount, when nothing of it is still being taken down.
sleep 1
umount /sys/fs/cgroup/systemd
`;
const inside = `${program} --user & wait`;

export type Typed = { code: number | null; stdout: string; stderr: string };

/** A real `systemd --user` with a home folder of the test's own, which this machine's systemd and processes know nothing of. */
export class UserManager {
  readonly root: string;
  readonly home: string;
  readonly #process: ChildProcess;
  #inner = 0;

  private constructor() {
    this.root = mkdtempSync(join(tmpdir(), "ropewalk-systemd-"));
    this.home = join(this.root, "home");
    mkdirSync(this.home);
    mkdirSync(this.runtime, { mode: 0o700 });
    writeFileSync(join(this.root, "outside.sh"), outside);
    const name = `ropewalk-test-${process.pid}`;
    this.#process = spawn("timeout", ["600", "unshare", "--mount", "sh", join(this.root, "outside.sh"), name, inside], {
      env: this.env,
      stdio: ["ignore", "ignore", "ignore"],
    });
  }

  /** Null where this machine does not allow it (no root, no systemd, no namespaces). */
  static async start(): Promise<UserManager | null> {
    if (process.platform !== "linux" || !existsSync(program) || process.getuid?.() !== 0) return null;
    const manager = new UserManager();
    try {
      await until("the user manager answers", () => manager.#isUp(), 20_000);
      return manager;
    } catch {
      await manager.close();
      return null;
    }
  }

  get runtime(): string {
    return join(this.root, "run");
  }

  get env(): NodeJS.ProcessEnv {
    const compiled = process.env.NODE_COMPILE_CACHE;
    return {
      PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
      HOME: this.home,
      XDG_RUNTIME_DIR: this.runtime,
      ...(compiled !== undefined && { NODE_COMPILE_CACHE: compiled }),
    };
  }

  /** Runs a program where the manager and its services are. */
  run(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Typed> {
    return new Promise((resolve, reject) => {
      const inner = ["nsenter", "--target", String(this.#inner), "--mount", "--pid", "--", ...args];
      const child = spawn(inner[0] ?? "", inner.slice(1), {
        cwd: this.root,
        env: { ...this.env, ...env },
        stdio: ["ignore", "pipe", "pipe"],
      });
      const typed: Typed = { code: null, stdout: "", stderr: "" };
      for (const name of ["stdout", "stderr"] as const)
        child[name].setEncoding("utf8").on("data", (chunk) => {
          typed[name] += chunk;
        });
      child.once("error", reject);
      child.once("close", (code) => resolve({ ...typed, code }));
    });
  }

  async close(): Promise<void> {
    if (this.#process.exitCode === null && this.#process.signalCode === null) {
      const over = once(this.#process, "exit");
      // The first process of the namespace takes all others with it; what is outside then clears up.
      if (this.#inner > 0) process.kill(this.#inner, "SIGKILL");
      else this.#process.kill("SIGTERM");
      await over;
    }
    rmSync(this.root, { recursive: true, force: true, maxRetries: 5 });
  }

  #isUp(): boolean {
    if (this.#process.exitCode !== null) throw new Error("the namespaces could not be made");
    this.#inner = innermost(this.#process.pid ?? 0);
    if (this.#inner === 0 || !existsSync(join(this.runtime, "systemd", "private"))) return false;
    try {
      const args = ["--target", String(this.#inner), "--mount", "--pid", "--", "systemctl", "--user", "show", "--property=Version"];
      execFileSync("nsenter", args, { env: this.env, stdio: "ignore" });
      return true;
    } catch {
      return false;
    }
  }
}

/** The process that is the first of its own namespace; 0 while there is none. */
function innermost(pid: number): number {
  try {
    for (let at = pid, depth = 0; depth < 10; depth += 1) {
      const status = readFileSync(`/proc/${at}/status`, "utf8");
      const names = /^NSpid:\s+(.+)$/m.exec(status)?.[1]?.split(/\s+/) ?? [];
      if (names.length > 1 && names.at(-1) === "1") return at;
      at = Number(readFileSync(`/proc/${at}/task/${at}/children`, "utf8").trim().split(" ")[0]);
    }
  } catch {
    // It is another process by now.
  }
  return 0;
}
