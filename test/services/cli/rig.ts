import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { v7 } from "uuid";
import { afterAll, vi } from "vitest";
import type { CommandId, ThreadId } from "../../../schemas/ids.ts";
import { connectLocal, type LocalClient } from "../../../services/http/client.ts";

// Every command is a process of its own: on a busy machine a test of ten of them takes its time.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

/** The real command line on folders of its own, with the scripted provider. */
const bin = fileURLToPath(new URL("../../../bin/ropewalk.js", import.meta.url));

// biome-ignore lint/suspicious/noExplicitAny: what commands answer is what the tests look at
export type Answer = any;
export type Ended = { code: number | null; stdout: string; stderr: string /** The one JSON document of `--json`. */; json: Answer };
export type Running = { child: ChildProcess; stdout: () => string; stderr: () => string; ended: Promise<Ended> };

/** How long ago something is that this test has made, for a pattern. */
export const lately = "(just now|\\d+ (second|minute)s? ago)";

const rules = [
  {
    match: { contains: "approve" },
    steps: [
      { approval: { text: "rm -rf build", question: "command" }, onAccept: [{ text: "removed" }], onDecline: [{ text: "left alone" }] },
    ],
  },
  { match: { contains: "ask me" }, steps: [{ ask: { text: "Which colour?" } }, { text: "you said $answer" }] },
  { match: { contains: "hang" }, steps: [{ hang: true }] },
  { match: { contains: "fail" }, steps: [{ fail: { message: "the model is out of paper" } }] },
  { match: { contains: "escape" }, steps: [{ text: "\u001b]0;owned\u0007red \u001b[31mtext" }] },
  {
    match: { contains: "busy" },
    steps: [{ command: { command: "make all", output: "built", exitCode: 0 } }, { reasoning: "I wonder" }, { text: "built it" }],
  },
  {
    match: { contains: "in parts" },
    steps: [
      { delta: "one two\n" },
      { delay: 700 },
      { command: { command: "make all", exitCode: 0 } },
      { delta: "three " },
      { delay: 700 },
      { text: "four" },
    ],
  },
  { match: { regex: "secret (\\w+)" }, steps: [{ text: "noted $1" }] },
];

export const config = (changes: object = {}) => ({
  environment: { id: "env:01a22d31-9dc2-7749-a2be-2bb293e1a298", name: "box" },
  providers: { scripted: { kind: "scripted", script: "script.json" }, other: { kind: "scripted", script: "script.json" } },
  defaultProvider: "scripted",
  nats: null,
  links: [],
  limits: {},
  ...changes,
});

/** What a person's shell has, and nothing of this one's: no HOME of anybody, no colours asked for. */
const environment = (more: NodeJS.ProcessEnv): NodeJS.ProcessEnv => ({
  PATH: process.env.PATH,
  HOME: "/nonexistent",
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
  ...more,
});

export class World {
  readonly dir: string;
  /** What the command line itself speaks with: for what a test needs besides the command that it is about. */
  readonly client: LocalClient;
  readonly #root: string;
  readonly #running = new Set<ChildProcess>();

  /** `config` null: an empty folder. */
  constructor(content: object | null = config(), name = "world") {
    this.#root = mkdtempSync(join(tmpdir(), "ropewalk-cli-"));
    this.dir = join(this.#root, name);
    this.client = connectLocal(this.dir);
    if (content === null) return;
    this.put("config.json", content);
    this.put("script.json", { rules });
  }

  /** Writes a file into the environment's folder, which is made. */
  put(name: string, content: unknown): string {
    const file = join(this.dir, name);
    mkdirSync(this.dir, { recursive: true, mode: 0o700 });
    writeFileSync(file, typeof content === "string" || content instanceof Uint8Array ? content : JSON.stringify(content));
    return file;
  }

  /** Takes a file out of the environment's folder. */
  remove(name: string): void {
    rmSync(join(this.dir, name), { recursive: true, force: true });
  }

  start(args: string[], options: { env?: NodeJS.ProcessEnv; input?: string | Uint8Array; cwd?: string; dir?: boolean } = {}): Running {
    const all = options.dir === false ? args : ["--dir", this.dir, ...args];
    const child = spawn(process.execPath, [bin, ...all], { env: environment(options.env ?? {}), cwd: options.cwd ?? this.#root });
    this.#running.add(child);
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (chunk) => {
      stdout += chunk;
    });
    child.stderr.setEncoding("utf8").on("data", (chunk) => {
      stderr += chunk;
    });
    child.stdin.on("error", () => {});
    child.stdin.end(options.input ?? "");
    const ended = new Promise<Ended>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (code) => {
        this.#running.delete(child);
        resolve({ code, stdout, stderr, json: parsed(stdout) });
      });
    });
    return { child, stdout: () => stdout, stderr: () => stderr, ended };
  }

  run(...args: string[]): Promise<Ended> {
    return this.start(args).ended;
  }

  /** Machine output of a command that must succeed. */
  async json(...args: string[]): Promise<Answer> {
    const { code, stdout, stderr, json } = await this.run("--json", ...args);
    if (code !== 0) throw new Error(`ropewalk ${args.join(" ")} ended with ${code}: ${stdout}${stderr}`);
    return json;
  }

  /** `up` in the foreground, once it can be used. */
  async up(options: Parameters<World["start"]>[1] = {}): Promise<Running> {
    const running = this.start(["up"], options);
    await until(() => running.stdout().includes("listens"), running.ended);
    return running;
  }

  /** A thread with this title, after a run for each text. */
  async thread(title: string, ...texts: string[]): Promise<ThreadId> {
    const { threadId } = (await this.client.command({ type: "thread.create", title }, commandId())).result;
    for (const text of texts) await this.say(threadId, text);
    return threadId;
  }

  /** Sends a text and waits until its run has ended or asks. */
  async say(threadId: ThreadId, text: string): Promise<void> {
    const { runId } = (await this.client.command({ type: "thread.send", threadId, text }, commandId())).result;
    await this.client.waitForRun(runId, { timeoutMs: 60_000 });
  }

  async close(): Promise<void> {
    this.client.close();
    await this.run("down").catch(() => {});
    for (const child of this.#running) {
      const gone = new Promise((resolve) => child.once("close", resolve));
      child.kill("SIGKILL");
      await gone;
    }
    rmSync(this.#root, { recursive: true, force: true });
  }
}

const worlds: World[] = [];
// Registered here, once a file: a hook that is given inside a test is never called.
afterAll(async () => {
  for (const made of worlds.splice(0)) await made.close();
});

/** A world that is gone after the file's tests, with every process on it. */
export function world(...given: ConstructorParameters<typeof World>): World {
  const made = new World(...given);
  worlds.push(made);
  return made;
}

/** Waits until something is so; fails when a process that it needs has ended before. */
export async function until(isSo: () => boolean | Promise<boolean>, ended?: Promise<Ended>): Promise<void> {
  let over: Ended | null = null;
  void ended?.then((how) => {
    over = how;
  });
  for (let tries = 0; tries < 3_000; tries += 1) {
    if (await isSo()) return;
    if (over !== null) throw new Error(`it ended before: ${JSON.stringify(over)}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error("it did not come about within a minute");
}

const commandId = () => `cmd:${v7()}` as CommandId;

function parsed(stdout: string): Answer {
  try {
    return JSON.parse(stdout);
  } catch {
    return null;
  }
}
