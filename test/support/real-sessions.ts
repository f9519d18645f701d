import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { codexConfig } from "./real-codex.ts";
import { realPackage } from "./real-packages.ts";

export type SessionProgram = "codex" | "codex-old" | "claude-code" | "claude-code-old";

/**
 * A home folder of the test's own in which a real program is spoken with as a person does, one call a turn, so that it leaves
 * its sessions there. Nothing of the caller's environment reaches it; its model is on loopback, its key is made up.
 */
export class RealSessions implements Disposable {
  /** Serves as HOME. */
  readonly home: string;
  readonly workspace: string;
  /** What the program is started with, and where it writes: CODEX_HOME or CLAUDE_CONFIG_DIR. */
  readonly #command: string[];
  readonly #env: Record<string, string>;
  readonly #isCodex: boolean;

  private constructor(home: string, workspace: string, program: SessionProgram, command: string[], baseUrl: string) {
    this.home = home;
    this.workspace = workspace;
    this.#command = command;
    this.#isCodex = program.startsWith("codex");
    const common = { PATH: "/usr/bin:/bin", HOME: home, TMPDIR: join(home, "tmp") };
    this.#env = this.#isCodex
      ? { ...common, FAKE_KEY: "dummy-key-of-a-test" }
      : {
          ...common,
          ANTHROPIC_API_KEY: "dummy-key-of-a-test",
          ANTHROPIC_BASE_URL: baseUrl,
          CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
          CLAUDE_CODE_MAX_RETRIES: "1",
          DISABLE_AUTOUPDATER: "1",
        };
  }

  /** `baseUrl`: of a ModelEndpoint for Codex, of a MessagesEndpoint for Claude Code. `home`: one that is there already. */
  static async create(program: SessionProgram, baseUrl: string, home?: string, bin?: string): Promise<RealSessions> {
    const command = bin === undefined ? await commandOf(program) : [bin];
    const folder = home ?? mkdtempSync(join(tmpdir(), "ropewalk-sessions-"));
    const workspace = join(folder, "workspace");
    for (const made of [workspace, join(folder, "tmp"), join(folder, ".codex")]) mkdirSync(made, { recursive: true });
    if (program.startsWith("codex")) writeFileSync(join(folder, ".codex", "config.toml"), codexConfig(baseUrl) + quietFeatures);
    return new RealSessions(folder, workspace, program, command, baseUrl);
  }

  /** Says something in a new session, or goes on with one; the session's id. Fails when the program does, unless it may. */
  async say(text: string, session: string | null = null, options: { mayFail?: boolean; more?: string[] } = {}): Promise<string> {
    const { mayFail = false, more = [] } = options;
    const args = this.#isCodex
      ? ["exec", "--skip-git-repo-check", "--sandbox", "danger-full-access", ...(session === null ? [] : ["resume", session]), text]
      : [...(session === null ? [] : ["--resume", session]), ...more, "--output-format=json", "--allowedTools=Bash,Task,Agent", "-p", text];
    const { code, output } = await this.run(args);
    if (code !== 0 && !mayFail) throw new Error(`${this.#command[0]} ${args.join(" ")} ended with ${code}: ${output}`);
    const id = (this.#isCodex ? /session id: ([0-9a-f-]{36})/ : /"session_id":"([0-9a-f-]{36})"/).exec(output)?.[1];
    if (id === undefined) throw new Error(`no session id in: ${output}`);
    return id;
  }

  run(args: string[]): Promise<{ code: number | null; output: string }> {
    return new Promise((resolve, reject) => {
      const [program = "", ...rest] = [...this.#command, ...args];
      const child = spawn(program, rest, { cwd: this.workspace, env: this.#env, stdio: ["ignore", "pipe", "pipe"] });
      let output = "";
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding("utf8").on("data", (chunk) => {
          output += chunk;
        });
      child.once("error", reject);
      child.once("close", (code) => resolve({ code, output }));
    });
  }

  /** How to start the program for a talk that is more than one call. */
  get start(): { command: string[]; env: Record<string, string>; cwd: string } {
    return { command: this.#command, env: this.#env, cwd: this.workspace };
  }

  /** All session files, oldest name first. */
  files(): string[] {
    const root = this.#isCodex ? join(this.home, ".codex", "sessions") : join(this.home, ".claude", "projects");
    if (!existsSync(root)) return [];
    const names = readdirSync(root, { recursive: true, encoding: "utf8" });
    return names
      .filter((name) => /\.jsonl$/.test(name))
      .sort()
      .map((name) => join(root, name));
  }

  [Symbol.dispose](): void {
    rmSync(this.home, { recursive: true, force: true, maxRetries: 3 });
  }
}

async function commandOf(program: SessionProgram): Promise<string[]> {
  const modules = join(await realPackage(program), "node_modules");
  switch (program) {
    case "codex":
      return [join(modules, "@openai", "codex-linux-x64", "vendor", "x86_64-unknown-linux-musl", "bin", "codex")];
    case "codex-old":
      return [join(modules, "@openai", "codex", "vendor", "x86_64-unknown-linux-musl", "codex", "codex")];
    case "claude-code":
      return [join(modules, "@anthropic-ai", "claude-code-linux-x64", "claude")];
    case "claude-code-old":
      return [process.execPath, join(modules, "@anthropic-ai", "claude-code", "cli.js")];
  }
}

/** Nothing of it may want the network. */
const quietFeatures = `
[features]
plugins = false
remote_plugin = false
apps = false
unbounded_connection_retries = false
`;
