import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const bin = fileURLToPath(new URL("../../bin/ropewalk.js", import.meta.url));

export type Typed = { code: number | null; stdout: string; stderr: string };

/** A person with a home folder of the test's own, who types commands one after another; counted, and timed from the first on. */
export class HomeShell implements AsyncDisposable {
  readonly home: string;
  typed = 0;
  /** Where whole lines are typed; a line may change it. */
  #folder: string;
  readonly #env: NodeJS.ProcessEnv;
  #since: number | null = null;

  constructor(env: NodeJS.ProcessEnv = {}, home = mkdtempSync(join(tmpdir(), "ropewalk-person-"))) {
    this.home = home;
    this.#folder = home;
    const path = [join(home, ".local", "bin"), this.#programs(), dirname(process.execPath), process.env.PATH].join(delimiter);
    // The whole environment: nothing of the caller's reaches what is started.
    this.#env = { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, PATH: path, ...env, HOME: home };
  }

  /** A folder with the `ropewalk` of this tree in it, for who installs no other one. */
  #programs(): string {
    const folder = join(this.home, ".programs");
    mkdirSync(folder, { recursive: true });
    const program = join(folder, "ropewalk");
    writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${bin}' "$@"\n`);
    chmodSync(program, 0o755);
    return folder;
  }

  /** Where the environment of this person's is. */
  get dir(): string {
    return join(this.home, ".local", "share", "ropewalk");
  }

  /** Seconds since the first command. */
  get seconds(): number {
    return this.#since === null ? 0 : (performance.now() - this.#since) / 1_000;
  }

  ropewalk(...args: string[]): Promise<Typed> {
    this.#since ??= performance.now();
    this.typed += 1;
    return this.#run(process.execPath, [bin, ...args]);
  }

  /** Types a line as it stands on a page: any program, pipes, variables. Both outputs, as they came. */
  async type(line: string): Promise<{ code: number | null; answer: string }> {
    this.#since ??= performance.now();
    this.typed += 1;
    const where = join(this.home, ".where");
    const script = 'cd -- "$1"; eval "$2" 2>&1; code=$?; pwd > "$3"; exit $code';
    const { code, stdout } = await this.#run("bash", ["-c", script, "bash", this.#folder, line, where]);
    this.#folder = readFileSync(where, "utf8").trim();
    return { code, answer: stdout };
  }

  /** What programs left in the home folder, each file with a digest of its bytes. */
  left(): Map<string, string> {
    const files = [".codex/sessions", ".claude/projects"].flatMap((name) => {
      const root = join(this.home, name);
      return existsSync(root) ? readdirSync(root, { recursive: true, encoding: "utf8" }).map((below) => join(root, below)) : [];
    });
    const digest = (path: string) => createHash("sha256").update(readFileSync(path)).digest("hex");
    return new Map(files.filter((path) => statSync(path).isFile()).map((path) => [path, digest(path)]));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#run(process.execPath, [bin, "down"]);
    rmSync(this.home, { recursive: true, force: true, maxRetries: 5 });
  }

  #run(program: string, args: string[]): Promise<Typed> {
    return new Promise((resolve, reject) => {
      const child = spawn(program, args, { cwd: this.home, env: this.#env, stdio: ["ignore", "pipe", "pipe"] });
      const typed: Typed = { code: null, stdout: "", stderr: "" };
      for (const name of ["stdout", "stderr"] as const)
        child[name].setEncoding("utf8").on("data", (chunk) => {
          typed[name] += chunk;
        });
      child.once("error", reject);
      child.once("close", (code) => resolve({ ...typed, code }));
    });
  }
}
