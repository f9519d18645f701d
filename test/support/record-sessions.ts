import { spawn } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { createInterface } from "node:readline";
import { answers, MessagesEndpoint, whenAsked } from "./messages-endpoint.ts";
import { ModelEndpoint, say, shell, when } from "./model-endpoint.ts";
import { installed } from "./real-packages.ts";
import { RealSessions, type SessionProgram } from "./real-sessions.ts";

/**
 * Records the session files in test/fixtures/sessions anew from the real programs: `npm run record:sessions`. What the
 * programs write besides the conversation (prompts of their own, tools, settings) is cut, and the machine's paths are replaced.
 */
const fixtures = join(import.meta.dirname, "..", "fixtures", "sessions");
const longest = 160;
const wholeKinds = new Set(["user", "assistant", "summary", "session_meta", "response_item", "event_msg", "message", "function_call"]);
type Json = Record<string, unknown>;

const codexRules = [
  when("RUN", shell("echo printed"), say("ran it")),
  when("BAD", { kind: "status", status: 400, message: "no" }),
  when("SLOW", { kind: "silence", afterDelta: "half an ans" }),
  when(
    "SPAWN",
    { kind: "tool", namespace: "multi_agent_v1", name: "spawn_agent", arguments: { message: "child task: say hi" } },
    say("spawned"),
  ),
  when("codeword", say("Noted: marline.")),
];

await recordCodex("codex", "codex-0.171", async (sessions) => {
  await talk(sessions, true);
  await appServerStory(sessions);
});
await recordCodex("codex-old", "codex-0.60", (sessions) => talk(sessions, true));
const bare = await installed("codex-bare", { name: "@openai/codex", version: "0.20.0" });
await recordCodex(
  "codex-old",
  "codex-0.20",
  (sessions) => talk(sessions, false),
  join(bare, "node_modules", "@openai", "codex", "bin", "codex-x86_64-unknown-linux-musl"),
);
for (const [program, name] of [
  ["claude-code", "claude-2.1"],
  ["claude-code-old", "claude-1.0"],
] as const) {
  const agent = {
    kind: "tool",
    name: program === "claude-code" ? "Agent" : "Task",
    input: { description: "child", prompt: "child task: say hi", subagent_type: "general-purpose", run_in_background: false },
  } as const;
  await using endpoint = await MessagesEndpoint.start(
    whenAsked("RUN", { kind: "tool", name: "Bash", input: { command: "echo printed", description: "prints" } }, answers("ran it")),
    whenAsked("AGENT", agent, answers("the child said it")),
    whenAsked("BAD", { kind: "status", status: 400, message: "no" }),
    whenAsked("codeword", answers("Noted: marline.")),
  );
  using sessions = await RealSessions.create(program, endpoint.baseUrl);
  const id = await talk(sessions, true);
  await sessions.say("AGENT please", id);
  await sessions.say("/compact", id);
  await sessions.say("after compaction", id);
  await sessions.say("on a fork", id, { more: ["--fork-session"] });
  write(sessions, name, join(sessions.home, ".claude"), "projects", endpoint.baseUrl);
}

/** The same conversation with each of them; its session's id. */
async function talk(sessions: RealSessions, resumes: boolean): Promise<string> {
  const id = await sessions.say("the codeword is marline\nsecond line").catch((error) => {
    // The oldest Codex says no id.
    if (resumes) throw error;
    return "";
  });
  if (!resumes) return id;
  await sessions.say("RUN something", id);
  await sessions.say("BAD thing", id, { mayFail: true });
  await sessions.say("after all", id);
  return id;
}

async function recordCodex(
  program: SessionProgram,
  name: string,
  play: (sessions: RealSessions) => Promise<unknown>,
  bin?: string,
): Promise<void> {
  await using endpoint = await ModelEndpoint.start(...codexRules);
  using sessions = await RealSessions.create(program, endpoint.baseUrl, undefined, bin);
  await play(sessions);
  write(sessions, name, join(sessions.home, ".codex"), "sessions", endpoint.baseUrl);
}

/** A thread that is named, forked, taken back, compacted, interrupted and has a subagent, in both ways of keeping history. */
async function appServerStory({ start }: RealSessions): Promise<void> {
  const [program = "", ...args] = start.command;
  const child = spawn(program, [...args, "app-server"], { cwd: start.cwd, env: start.env, stdio: ["pipe", "pipe", "ignore"] });
  // biome-ignore lint/suspicious/noExplicitAny: frames of another program's protocol
  type Frame = any;
  const answersTo = new Map<number, (frame: Frame) => void>();
  const waits: [isIt: (frame: Frame) => boolean, tell: () => void][] = [];
  createInterface({ input: child.stdout }).on("line", (line) => {
    const frame = JSON.parse(line);
    answersTo.get(frame.id)?.(frame.result);
    for (const [isIt, tell] of waits) if (isIt(frame)) tell();
  });
  let id = 0;
  const ask = (method: string, params: object): Promise<Frame> =>
    new Promise((resolve) => {
      id += 1;
      answersTo.set(id, resolve);
      child.stdin.write(`${JSON.stringify({ id, method, params })}\n`);
    });
  const told = (method: string, threadId: string) =>
    new Promise<void>((resolve) => waits.push([(frame) => frame.method === method && frame.params.threadId === threadId, resolve]));
  await ask("initialize", { clientInfo: { name: "recorder", title: "recorder", version: "1" }, capabilities: { experimentalApi: true } });
  child.stdin.write('{"method":"initialized"}\n');
  const turn = async (threadId: string, text: string): Promise<string> => {
    const done = told("turn/completed", threadId);
    const started = await ask("turn/start", { threadId, input: [{ type: "text", text }] });
    await done;
    return started.turn.id;
  };
  for (const historyMode of ["paginated", "legacy"]) {
    const wish = { cwd: start.cwd, approvalPolicy: "never", sandbox: "danger-full-access", historyMode };
    const threadId = (await ask("thread/start", wish)).thread.id;
    await turn(threadId, "the codeword is marline");
    const second = await turn(threadId, "RUN two");
    const third = await turn(threadId, "third");
    await ask("thread/name/set", { threadId, name: "a name by hand" });
    const fork = (await ask("thread/fork", { threadId, lastTurnId: second })).thread.id;
    await turn(fork, "on the fork");
    if (historyMode === "paginated") {
      await ask("thread/revert", { threadId, beforeTurnId: third });
      const fourth = await turn(threadId, "fourth");
      await ask("thread/revert", { threadId, beforeTurnId: fourth });
    }
    await turn(threadId, "after going back");
    const compacted = told("turn/completed", threadId);
    await ask("thread/compact/start", { threadId });
    await compacted;
    const delta = told("item/agentMessage/delta", threadId);
    const ended = told("turn/completed", threadId);
    const slow = await ask("turn/start", { threadId, input: [{ type: "text", text: "SLOW one" }] });
    await delta;
    await ask("turn/interrupt", { threadId, turnId: slow.turn.id });
    await ended;
    await turn(threadId, "SPAWN a child");
  }
  const closed = new Promise((resolve) => child.once("close", resolve));
  child.stdin.end();
  await closed;
}

function write(sessions: RealSessions, name: string, root: string, below: string, baseUrl: string): void {
  const target = join(fixtures, name);
  rmSync(target, { recursive: true, force: true });
  const slug = sessions.workspace.replaceAll(/[^a-zA-Z0-9]/g, "-");
  const clean = (text: string) =>
    text.replaceAll(sessions.workspace, "/workspace").replaceAll(sessions.home, "/home/person").replaceAll(baseUrl, "http://127.0.0.1:1");
  const names = readdirSync(root, { recursive: true, encoding: "utf8" });
  const wanted = names.filter((file) => /\.jsonl$/.test(file) && (file.startsWith(below) || file === "session_index.jsonl"));
  for (const file of wanted) {
    const lines = readFileSync(join(root, file), "utf8").trimEnd().split("\n");
    const path = join(target, file.replaceAll(slug, "-workspace"));
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `${lines.map((line) => JSON.stringify(cut(JSON.parse(clean(line))))).join("\n")}\n`);
    console.log(`${relative(fixtures, path)}: ${lines.length} lines`);
  }
}

/** An entry without what the program says of itself: long texts shortened, entries that are no part of a talk without content. */
function cut(entry: Json): Json {
  const isTalk = entry.type === undefined || wholeKinds.has(String(entry.type)) || entry.subtype === "compact_boundary";
  const kept = Object.entries(entry).filter(
    ([name, value]) => name !== "toolUseResult" && (isTalk || typeof value !== "object" || value === null),
  );
  return shortened(Object.fromEntries(kept)) as Json;
}

function shortened(value: unknown): unknown {
  if (typeof value === "string") return value.length > longest ? `(${value.length} characters)` : value;
  if (Array.isArray(value)) return value.slice(0, 12).map(shortened);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inside]) => [name, shortened(inside)]));
}
