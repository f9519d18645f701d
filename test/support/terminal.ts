import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import xterm, { type Terminal } from "@xterm/headless";
import { onTestFinished } from "vitest";
import { ropewalk } from "./up.ts";

/** Where `script` (util-linux, on every Debian) is missing, there is no other pseudo-terminal to be had. */
export const hasTerminals = existsSync("/usr/bin/script");

const quoted = (word: string) => `'${word.replaceAll("'", `'\\''`)}'`;

type Options = { columns?: number; rows?: number; env?: Record<string, string> };

/**
 * A person at a terminal who types `ropewalk ARGS`: a real pseudo-terminal, and a terminal emulator that shows what a person
 * would see of its output. Closed when the test is over.
 */
export class PersonAtTerminal {
  /** Everything that was written to the terminal, as it came. */
  written = "";
  readonly ended: Promise<number | null>;
  readonly #child: ChildProcess;
  readonly #terminal: Terminal;
  readonly #folder: string;
  #shown: Promise<unknown> = Promise.resolve();

  constructor(args: readonly string[], { columns = 80, rows = 24, env = {} }: Options = {}) {
    this.#folder = mkdtempSync(join(tmpdir(), "ropewalk-tty-"));
    this.#terminal = new xterm.Terminal({ cols: columns, rows, scrollback: 10_000, allowProposedApi: true });
    const line = [process.execPath, ropewalk, ...args].map(quoted).join(" ");
    const command = `tty >${quoted(join(this.#folder, "tty"))}; echo $$ >${quoted(join(this.#folder, "pid"))}; stty rows ${rows} cols ${columns}; exec ${line}`;
    this.#child = spawn("/usr/bin/script", ["-qefc", command, "/dev/null"], {
      cwd: this.#folder,
      env: {
        PATH: process.env.PATH ?? "",
        HOME: "/nonexistent",
        NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? "",
        TERM: "xterm-256color",
        SHELL: "/bin/sh",
        LANG: "C.UTF-8",
        ...env,
      },
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.#child.stdin?.on("error", () => {});
    this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.written += text;
      this.#shown = new Promise<void>((resolve) => this.#terminal.write(text, resolve));
    });
    this.ended = once(this.#child, "close").then(([code]) => code as number | null);
    onTestFinished(() => this.close());
  }

  /** Keys as a terminal sends them. */
  type(keys: string): void {
    this.#child.stdin?.write(keys);
  }

  /** What a terminal sends that marks its pastes. */
  paste(text: string): void {
    this.type(`\u001b[200~${text}\u001b[201~`);
  }

  /** The lines of the terminal, from the oldest that it still has; one that it broke into rows is one line. */
  lines(): string[] {
    const { buffer } = this.#terminal;
    const lines: string[] = [];
    for (let at = 0; at < buffer.active.length; at += 1) {
      const row = buffer.active.getLine(at);
      const text = row?.translateToString(true) ?? "";
      if (row?.isWrapped === true) lines[lines.length - 1] += text;
      else lines.push(text);
    }
    return lines;
  }

  get text(): string {
    return this.lines().join("\n").trimEnd();
  }

  /** The rows of the window as they are seen. */
  rows(): string[] {
    const { buffer, rows } = this.#terminal;
    return Array.from({ length: rows }, (_, at) => buffer.active.getLine(buffer.active.baseY + at)?.translateToString(true) ?? "");
  }

  get cursor(): { row: number; column: number } {
    const { cursorX, cursorY } = this.#terminal.buffer.active;
    return { row: cursorY, column: cursorX };
  }

  /** Waits until the terminal shows this. */
  async sees(what: string | RegExp | ((person: PersonAtTerminal) => boolean), ms = 60_000): Promise<void> {
    const isSeen = () =>
      typeof what === "function" ? what(this) : typeof what === "string" ? this.text.includes(what) : what.test(this.text);
    for (const end = Date.now() + ms; ; await new Promise((resolve) => setTimeout(resolve, 20))) {
      await this.#shown;
      if (isSeen()) return;
      if (Date.now() > end) throw new Error(`waited in vain for ${what}; the terminal shows:\n${this.text}`);
    }
  }

  resize(columns: number, rows: number): void {
    this.#terminal.resize(columns, rows);
    execFileSync("stty", ["-F", this.#tty, "rows", String(rows), "cols", String(columns)]);
  }

  /** Whether keys are shown by the terminal itself again, as a shell wants it. */
  get isGivenBack(): boolean {
    return !this.written.includes("\u001b[?2004h") || this.written.lastIndexOf("\u001b[?2004l") > this.written.lastIndexOf("\u001b[?2004h");
  }

  /** Closes the window, whatever runs in it. */
  async hangUp(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#child.kill("SIGKILL");
    await this.ended;
  }

  async close(): Promise<void> {
    await this.hangUp();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** The process at the terminal. */
  get pid(): number {
    return Number(readFileSync(join(this.#folder, "pid"), "utf8"));
  }

  get #tty(): string {
    return readFileSync(join(this.#folder, "tty"), "utf8").trim();
  }
}
