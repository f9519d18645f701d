import { randomUUID } from "node:crypto";
import { PassThrough, Writable } from "node:stream";
import { createCodexAdapter } from "../../../services/providers/codex/adapter.ts";
import type { AppServerChild, Exit } from "../../../services/providers/codex/process.ts";
import type { ProviderAdapter } from "../../../services/providers/contract.ts";
import type { WireTurn } from "./scenario.ts";

type Frame = { id?: number; method?: string; params?: Record<string, unknown> };

/**
 * The real Codex adapter on an app-server that answers every turn with frames as 0.171.0 was recorded to send them
 * (test/fixtures/codex): `next` says what the turn holds.
 */
export function codexFromFrames(stateDir: string, next: () => WireTurn): ProviderAdapter {
  // The binary is only looked for, so any file does.
  const config = { kind: "codex", bin: process.execPath, env: {} } as const;
  return createCodexAdapter({ instance: "codex", config, stateDir, startChild: () => appServer(next) });
}

function appServer(next: () => WireTurn): AppServerChild {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const exit = Promise.withResolvers<Exit>();
  const say = (frame: object) => stdout.write(`${JSON.stringify(frame)}\n`);
  let rest = "";
  const stdin = new Writable({
    write(chunk: Buffer, _encoding, done) {
      const lines = (rest + chunk.toString()).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) answer(JSON.parse(line) as Frame, say, next);
      done();
    },
    final(done) {
      stdout.once("end", () => exit.resolve({ code: 0, signal: null })).end();
      done();
    },
  });
  return { stdin, stdout, stderr, exited: exit.promise, kill: (signal) => exit.resolve({ code: null, signal }) };
}

function answer({ id, method, params = {} }: Frame, say: (frame: object) => void, next: () => WireTurn): void {
  const threadId = (params.threadId as string | undefined) ?? randomUUID();
  if (method === "initialize") say({ id, result: { userAgent: "ropewalk/0.171.0", platformFamily: "unix", platformOs: "linux" } });
  else if (method === "thread/start" || method === "thread/resume") {
    const { cwd, approvalPolicy } = params;
    const thread = { id: threadId, historyMode: "paginated", status: { type: "idle" }, cwd, turns: [] };
    say({ id, result: { thread, model: "some-model", cwd, approvalPolicy, sandbox: sandboxOf(params.sandbox) } });
  } else if (method === "turn/start") play(threadId, id, say, next());
  else if (method === "thread/unsubscribe") {
    say({ id, result: { status: "unsubscribed" } });
    say({ method: "thread/closed", params: { threadId } });
  } else if (id !== undefined) say({ id, result: {} });
}

const sandboxOf = (given: unknown) =>
  given === "danger-full-access"
    ? { type: "dangerFullAccess" }
    : given === "read-only"
      ? { type: "readOnly" }
      : { type: "workspaceWrite", writableRoots: [], networkAccess: false };

function play(threadId: string, id: number | undefined, say: (frame: object) => void, turn: WireTurn): void {
  const native = { id: randomUUID(), items: [], itemsView: "notLoaded", status: "inProgress", error: null };
  const item = (what: object) => {
    say({ method: "item/started", params: { item: { ...what, status: "inProgress" }, threadId, turnId: native.id } });
    say({ method: "item/completed", params: { item: what, threadId, turnId: native.id } });
  };
  say({ id, result: { turn: native } });
  say({ method: "turn/started", params: { threadId, turn: native } });
  item({ type: "agentMessage", id: "msg_1", text: turn.text, phase: null });
  turn.commands.forEach(({ command, output }, n) => {
    const run = { command, cwd: "/workspace", processId: String(13_500 + n), source: "unifiedExecStartup" };
    item({ type: "commandExecution", id: `call_${n}`, ...run, status: "completed", aggregatedOutput: output, exitCode: 0, durationMs: 12 });
  });
  const { name, arguments: given, result } = turn.tool;
  const called = { server: "files", tool: name, arguments: given, error: null, durationMs: 30 };
  item({ type: "mcpToolCall", id: "call_tool", ...called, status: "completed", result: { content: [{ type: "text", text: result }] } });
  say({ method: "turn/completed", params: { threadId, turn: { ...native, status: "completed" } } });
}
