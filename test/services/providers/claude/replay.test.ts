import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ItemBody } from "../../../../schemas/item.ts";
import { createClaudeAdapter } from "../../../../services/providers/claude/adapter.ts";
import type { TurnEvent } from "../../../../services/providers/contract.ts";
import { systemClock } from "../../../../services/runtime/system-clock.ts";
import { type Line, readRecording, replay } from "../../../support/claude-recording.ts";
import { attemptOf, type ScenarioName, type Seen, scenarios } from "../../../support/claude-scenarios.ts";
import { input, TurnLog } from "../../../support/turn-log.ts";

const never = new AbortController().signal;
const fullAccess = { runtimeMode: "full-access", interactionMode: "default" } as const;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ropewalk-replay-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** An adapter whose Claude Code is a recording; neither the SDK nor the program is there. */
function adapterOf(lines: Line[]) {
  const { start, said } = replay(lines);
  const config = { kind: "claude" as const, home: join(folder, "home"), env: { HOME: folder } };
  return { adapter: createClaudeAdapter({ instance: "claude", config, stateDir: join(folder, "state"), startAgent: start }), said };
}

async function play(name: ScenarioName, change = (lines: Line[]) => lines) {
  const { adapter, said } = adapterOf(change(readRecording(name)));
  const seen: Seen = await scenarios[name].play(adapter, folder);
  await adapter.close();
  return { seen, said };
}

const bodies = (events: TurnEvent[] = []) => events.flatMap((event) => (event.type === "item" ? [event.body] : []));
const endOf = (events: TurnEvent[] = []) => events.at(-1);
const requestsOf = (events: TurnEvent[] = []) => events.filter((event) => "requestId" in event);
const assistant = (text: string) => ({ kind: "assistant_message", content: { text } });

describe("what Claude Code 2.1.332 said when it was recorded", () => {
  it("Messages, thoughts, commands, file changes and subagents become items that our schema takes, each turn with one end, which is last", async () => {
    const { seen } = await play("turns");
    for (const events of Object.values(seen)) {
      for (const body of bodies(events)) expect(ItemBody.parse(body)).toEqual(body);
      expect(events.filter(({ type }) => type === "ended")).toEqual([endOf(events)]);
      expect(endOf(events)).toMatchObject({ ending: "completed", error: null, turnRef: { strength: "strong" } });
    }
    expect(seen.said?.flatMap((event) => (event.type === "progress" ? [event.text] : []))).toEqual(["one", "one two"]);
    expect(bodies(seen.said)).toEqual([{ kind: "reasoning", content: { text: "let me see" } }, assistant("one two")]);
    const command = { kind: "command", cwd: folder };
    expect(bodies(seen.ran)).toEqual([
      { ...command, command: "echo printed", exitCode: 0, output: { text: "printed" } },
      { ...command, command: "echo out; exit 3", exitCode: 3, output: { text: "out" } },
      assistant("ran"),
    ]);
    expect(bodies(seen.changed)).toMatchObject([
      { kind: "file_change", changes: [{ change: "add" }], diff: { text: expect.stringContaining("+hello") } },
      { kind: "file_change", changes: [{ change: "update" }], diff: { text: expect.stringContaining("-hello\n+goodbye") } },
      assistant("changed"),
    ]);
    const child = bodies(seen.spawned)[0];
    expect(child).toMatchObject({ kind: "subagent", taskId: null, content: { text: expect.stringContaining("CHILD task") } });
    expect(bodies(seen.spawned).slice(1)).toEqual([assistant("spawned")]);
  });

  it("The input carries our attempt's uuid as its own, and handoffs stand before the message in blocks of their own", async () => {
    const { said } = await play("turns");
    const sent = said.flatMap((line) => ("sent" in line ? [line.sent] : []));
    expect(sent[0]).toMatchObject({
      uuid: attemptOf(1).replace("attempt:", ""),
      message: { content: [{ text: "what was before" }, { text: "SAY it" }] },
    });
    expect(sent[1]?.message.content).toEqual([{ type: "text", text: "RUN it" }]);
  });

  it("Each of our answers reaches Claude in its words, what is accepted for the session stays in it, and what was not done is not told as done", async () => {
    const { seen, said } = await play("approvals");
    const answers = said.flatMap((line) => ("answered" in line ? [line.answered] : []));
    expect(answers).toMatchObject([
      { behavior: "deny", message: expect.stringContaining("declined") },
      { behavior: "deny", interrupt: true },
      { behavior: "allow", updatedInput: { command: "touch made" } },
      { behavior: "deny" },
      { behavior: "allow", updatedPermissions: [{ destination: "session" }] },
      { behavior: "allow", updatedInput: { answers: { "Which?": "Blue" } } },
      { behavior: "deny", message: expect.stringContaining("plan") },
    ]);
    for (const step of ["declined", "cancelled", "accepted", "unchanged", "changed", "asked"])
      expect(requestsOf(seen[step]).map(({ type }) => type)).toEqual(["request_opened", "request_closed"]);
    expect(bodies(seen.declined)[0]).toMatchObject({ kind: "command", exitCode: null });
    expect(endOf(seen.declined)).toMatchObject({ ending: "completed" });
    expect(endOf(seen.cancelled)).toMatchObject({ ending: "interrupted", error: null });
    expect(bodies(seen.accepted)[0]).toMatchObject({ kind: "command", exitCode: 0 });
    expect(bodies(seen.unchanged)[0]).toMatchObject({ kind: "tool_call", tool: "Write", ok: false });
    expect(bodies(seen.changed)[0]).toMatchObject({ kind: "file_change" });
    expect(requestsOf(seen.asked)[0]).toMatchObject({
      question: "question",
      options: ["Red", "Blue"],
      text: "Colour: Which?\n- Red: warm\n- Blue: cold",
    });
    expect(requestsOf(seen.planned)).toEqual([]);
    expect(bodies(seen.planned)).toContainEqual({ kind: "plan", content: { text: "1. Make it." } });
  });

  it("Sessions are opened with an id and the mode that ours means, and nobody skips permissions", async () => {
    const { said } = await play("approvals");
    const [asking, planning] = said.flatMap((line) => ("options" in line ? [line.options] : []));
    expect(asking).toMatchObject({ permissionMode: "default", sessionId: expect.any(String), includePartialMessages: true });
    expect(planning?.permissionMode).toBe("plan");
  });

  it("A failed turn tells the status of the model's endpoint, which Claude calls a success, as a code, a reason and what to do", async () => {
    const { seen } = await play("failures");
    const results = readRecording("failures").flatMap((line) => ("got" in line && line.got.type === "result" ? [line.got.subtype] : []));
    expect(new Set(results)).toEqual(new Set(["success"]));
    const errors = ["401", "429", "400", "529"].map((step) => endOf(seen[step]));
    expect(errors.map((end) => (end?.type === "ended" ? [end.ending, end.error?.code, end.error?.reason] : []))).toEqual([
      ["failed", "provider_unavailable", "login_required"],
      ["failed", "provider_unavailable", "usage_limit"],
      ["failed", "invalid_request", "provider_rejected_input"],
      ["failed", "provider_unavailable", "provider_overloaded"],
    ]);
    for (const events of Object.values(seen)) expect(bodies(events)).toEqual([]);
  });

  it("R02 An interrupted turn, which Claude calls an error, and one whose process is killed both end once, with what the model had said so far", async () => {
    const { seen } = await play("ends");
    const half = { type: "item", truncated: true, body: assistant("half a mess") };
    const told = (events: TurnEvent[] = []) => events.filter(({ type }) => type !== "alive").slice(-2);
    expect(told(seen.interrupted)).toMatchObject([half, { type: "ended", ending: "interrupted", error: null }]);
    expect(told(seen.died)).toMatchObject([
      half,
      { type: "ended", ending: "failed", error: { code: "provider_unavailable", reason: "provider_process_died" } },
    ]);
  });
});

describe("what Claude Code could say", () => {
  const open = (lines: Line[]) => {
    const { adapter, said } = adapterOf(lines);
    const request = { kind: "new", cwd: folder, model: null, modes: fullAccess, threadId: "thread:test" } as const;
    return { opening: adapter.open(request, never), adapter, said };
  };
  const atResult = (lines: Line[]) => lines.findIndex((line) => "got" in line && line.got.type === "result");
  const got = (frame: Record<string, unknown>): Line => ({ agent: 0, got: frame as never });

  it("Frames of unknown kinds, of a subagent and of a turn that nobody asked for change nothing", async () => {
    const noise = [
      got({ type: "telepathy" }),
      got({ type: "system", subtype: "dreamt" }),
      got({ type: "assistant", uuid: "x", parent_tool_use_id: "toolu_x", message: { content: [{ type: "text", text: "a child's" }] } }),
      got({ type: "assistant", uuid: "x", message: { content: [{ type: "telepathy" }] } }),
      got({ type: "user", uuid: "x", message: { content: [{ type: "tool_result", tool_use_id: "unknown", content: "of nothing" }] } }),
      got({ type: "result", subtype: "success", terminal_reason: "completed", origin: { kind: "task-notification" } }),
      got({ type: "result", subtype: "success", terminal_reason: "completed", user_message_uuid: "another" }),
      got({ type: "command_lifecycle", command_uuid: "another", state: "started" }),
    ];
    const { seen } = await play("turns", (lines) => {
      const at = lines.findIndex((line) => "got" in line && line.got.state === "started") + 1;
      return lines.toSpliced(at, 0, ...noise);
    });
    expect(bodies(seen.said)).toEqual([{ kind: "reasoning", content: { text: "let me see" } }, assistant("one two")]);
    expect(endOf(seen.said)).toMatchObject({ ending: "completed" });
  });

  it.each([
    [{ terminal_reason: "prompt_too_long", is_error: true }, "failed", "context_too_large"],
    [{ terminal_reason: "max_turns", is_error: false }, "failed", "provider_limit"],
    [{ terminal_reason: "hook_stopped", is_error: false }, "failed", "stopped_by_hook"],
    [{ terminal_reason: "completed", is_error: false, stop_reason: "refusal" }, "failed", "provider_policy"],
    [{ terminal_reason: "completed", is_error: true, subtype: "error_during_execution" }, "completed", undefined],
    [{ terminal_reason: "aborted_tools", is_error: false, subtype: "success" }, "interrupted", undefined],
    [{ terminal_reason: "something_new", is_error: true }, "failed", "provider_failed"],
    [{ terminal_reason: "something_new", is_error: false }, "completed", undefined],
  ])("A turn that ended with %o is %s", async (result, ending, reason) => {
    const lines = readRecording("turns");
    const at = atResult(lines);
    const { got: recorded } = lines[at] as { got: Record<string, unknown> };
    const { opening, adapter } = open(lines.with(at, got({ ...recorded, stop_reason: "end_turn", ...result })));
    const session = await opening;
    const log = new TurnLog();
    await session.startTurn(input("SAY it", { attemptId: attemptOf(1) }), log.sink, never);
    const end = await log.ended();
    expect([end.ending, end.error?.reason]).toEqual([ending, reason]);
    await adapter.close();
  });

  it("A process that ends before it accepts the input rejects the start and tells the sink nothing", async () => {
    const lines = readRecording("ends");
    const sent = lines.findIndex((line) => "sent" in line);
    const { opening, adapter } = open([...lines.slice(0, sent + 1), { agent: 0, exit: { code: 1, signal: null, stderr: "no" } }]);
    const session = await opening;
    const log = new TurnLog();
    await expect(session.startTurn(input("HALF", { attemptId: attemptOf(1) }), log.sink, never)).rejects.toMatchObject({
      refusal: { reason: "provider_process_died", message: expect.stringContaining("exit code 1: no") },
    });
    expect(log.events).toEqual([]);
    await adapter.close();
  });

  it("A process that ends in the same moment as it accepts still tells the acceptance first and one end after it", async () => {
    const lines = readRecording("ends");
    const spoken = lines.findIndex((line) => "got" in line && line.got.event?.type === "content_block_delta");
    const { opening, adapter } = open([...lines.slice(0, spoken + 1), { agent: 0, exit: { code: 1, signal: null, stderr: "" } }]);
    const session = await opening;
    const told: string[] = [];
    const ended = Promise.withResolvers<void>();
    void session
      .startTurn(
        input("HALF", { attemptId: attemptOf(1) }),
        ({ type }) => {
          told.push(type);
          if (type === "ended") ended.resolve();
        },
        never,
      )
      .then(() => told.push("accepted"));
    await ended.promise;
    expect([told[0], told.at(-1), told.filter((type) => type === "ended").length]).toEqual(["accepted", "ended", 1]);
    await adapter.close();
  });

  it("A process that ends while it asks closes what it asked before the turn ends", async () => {
    const lines = readRecording("approvals");
    const asked = lines.findIndex((line) => "asked" in line);
    const { adapter } = adapterOf([...lines.slice(0, asked + 1), { agent: 0, exit: { code: null, signal: "SIGKILL", stderr: "" } }]);
    const modes = { runtimeMode: "approval-required", interactionMode: "default" } as const;
    const session = await adapter.open({ kind: "new", cwd: folder, model: null, modes, threadId: "thread:test" }, never);
    const log = new TurnLog();
    await session.startTurn(input("RUN", { attemptId: attemptOf(1) }), log.sink, never);
    const { requestId } = await log.asked();
    await log.ended();
    const left = log.events.slice(log.events.findIndex(({ type }) => type === "request_opened"));
    expect(left.map(({ type }) => type)).toEqual(["request_opened", "item", "request_closed", "ended"]);
    await expect(session.answer(requestId, "accept")).rejects.toMatchObject({ refusal: { reason: "unknown_request" } });
    await adapter.close();
  });

  it("S08 A program that never says that it is ready is ended, and opening says so", async () => {
    const { start } = replay([{ agent: 0, options: {} as never }]);
    // The long wait is over at once, the others take their time.
    const clock = { ...systemClock, after: (ms: number, then: () => void) => systemClock.after(ms > 60_000 ? 1 : ms, then) };
    const config = { kind: "claude" as const, home: join(folder, "home"), env: { HOME: folder } };
    const adapter = createClaudeAdapter({ instance: "claude", config, stateDir: join(folder, "state"), startAgent: start, clock });
    const request = { kind: "new", cwd: folder, model: null, modes: fullAccess, threadId: "thread:test" } as const;
    await expect(adapter.open(request, never)).rejects.toMatchObject({ openFailed: false, refusal: { reason: "provider_not_answering" } });
    await adapter.close();
  });

  it.each([
    ["No conversation found with session ID: x", "resume", "native_thread_not_found", true],
    ["Claude Code process exited with code 1", "resume", "provider_process_died", false],
  ] as const)("Opening that fails with %o is told as what it is", async (said, kind, reason, openFailed) => {
    const lines: Line[] = [
      { agent: 0, options: {} as never },
      { agent: 0, failed: said },
      { agent: 0, exit: { code: 1, signal: null, stderr: said } },
    ];
    const { adapter } = adapterOf(lines);
    const nativeRef = { id: "99999999-9999-4999-8999-999999999999", strength: "strong" } as const;
    const request = { kind, nativeRef, cwd: folder, model: null, modes: fullAccess, threadId: "thread:test" };
    await expect(adapter.open(request, never)).rejects.toMatchObject({ openFailed, refusal: { reason } });
    await adapter.close();
  });
});
