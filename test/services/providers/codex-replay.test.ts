import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ItemBody } from "../../../schemas/item.ts";
import { createCodexAdapter } from "../../../services/providers/codex/adapter.ts";
import type { TurnEvent } from "../../../services/providers/contract.ts";
import { type Line, readRecording, replay } from "../../support/codex-recording.ts";
import { type ScenarioName, type Seen, scenarios } from "../../support/codex-scenarios.ts";
import { TurnLog } from "../../support/turn-log.ts";

const never = new AbortController().signal;
const asking = { runtimeMode: "approval-required", interactionMode: "default" } as const;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ropewalk-replay-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** An adapter whose app-server is a recording. The binary is only looked for, so any file does. */
function adapterOf(lines: Line[]) {
  const { start, sent } = replay(lines);
  const config = { kind: "codex", bin: "/bin/sh", env: { FAKE_KEY: "dummy" } } as const;
  return { adapter: createCodexAdapter({ instance: "codex", config, stateDir: join(folder, "state"), startChild: start }), sent };
}

async function play(name: ScenarioName) {
  const { adapter, sent } = adapterOf(readRecording(name));
  const seen: Seen = await scenarios[name].play(adapter, folder);
  await adapter.close();
  return { seen, sent };
}

const eventsOf = (seen: Seen, step: string) => seen[step] as TurnEvent[];
const bodies = (seen: Seen, step: string) => eventsOf(seen, step).flatMap((event) => (event.type === "item" ? [event.body] : []));
const endOf = (seen: Seen, step: string) => eventsOf(seen, step).at(-1);
const requestsOf = (seen: Seen, step: string) => eventsOf(seen, step).filter((event) => "requestId" in event);
const assistant = (text: string) => ({ kind: "assistant_message", content: { text } });

describe("what Codex 0.171.0 said when it was recorded", () => {
  it("Messages, commands and file changes become items that our schema takes, each turn with one end, which is last", async () => {
    const { seen } = await play("turns");
    for (const step of Object.keys(seen)) {
      for (const body of bodies(seen, step)) expect(ItemBody.parse(body)).toEqual(body);
      expect(eventsOf(seen, step).filter(({ type }) => type === "ended")).toEqual([endOf(seen, step)]);
      expect(endOf(seen, step)).toMatchObject({ ending: "completed", error: null, turnRef: { strength: "strong" } });
    }
    expect(eventsOf(seen, "said").flatMap((event) => (event.type === "progress" ? [event.text] : []))).toEqual(["one", "one two"]);
    expect(bodies(seen, "said")).toEqual([assistant("one two")]);
    const command = { kind: "command", cwd: "/workspace" };
    expect(bodies(seen, "ran")).toMatchObject([
      { ...command, command: expect.stringContaining("echo printed"), exitCode: 0, output: { text: "printed\n" } },
      { ...command, exitCode: 3, output: { text: "" } },
      assistant("ran"),
    ]);
    const path = "/workspace/a.txt";
    expect(bodies(seen, "patched")).toMatchObject([
      { kind: "file_change", changes: [{ path, change: "add" }], diff: { text: expect.stringContaining("hello") } },
      { kind: "file_change", changes: [{ path, change: "rename" }], diff: { text: expect.stringContaining("+goodbye") } },
      { kind: "file_change", changes: [{ path: "/workspace/b.txt", change: "delete" }] },
      assistant("patched"),
    ]);
  });

  it("The input carries our attempt id, and handoffs go through the channel of their own", async () => {
    const { sent } = await play("turns");
    const [first, second] = sent.filter(({ method }) => method === "turn/start").map(({ params }) => params!);
    expect(first).toMatchObject({
      clientUserMessageId: "attempt:SAY it",
      input: [{ type: "text", text: "SAY it" }],
    });
    expect(Object.values(first?.additionalContext as object)).toEqual([{ value: "what was before", kind: "application" }]);
    expect(second).not.toHaveProperty("additionalContext");
  });

  it("Each of our answers reaches Codex in its words, and what was not done is not told as done", async () => {
    const { seen, sent } = await play("approvals");
    const answers = sent.filter(({ method }) => method === undefined).map(({ result }) => result);
    expect(answers).toEqual([
      { decision: "decline" },
      { decision: "cancel" },
      { decision: "accept" },
      { decision: "decline" },
      { decision: "acceptForSession" },
      { answers: { colour: { answers: ["Blue"] } } },
    ]);
    for (const step of Object.keys(seen))
      expect(requestsOf(seen, step).map(({ type }) => type)).toEqual(["request_opened", "request_closed"]);
    expect(bodies(seen, "declined")[0]).toMatchObject({ kind: "command", exitCode: null, output: { text: "Not run: declined." } });
    expect(endOf(seen, "declined")).toMatchObject({ ending: "completed" });
    expect(endOf(seen, "cancelled")).toMatchObject({ ending: "interrupted", error: null });
    expect(bodies(seen, "accepted")[0]).toMatchObject({ kind: "command", exitCode: 0 });
    expect(bodies(seen, "unchanged")[0]).toMatchObject({ kind: "tool_call", tool: "apply_patch", ok: false });
    expect(bodies(seen, "changed")[0]).toMatchObject({ kind: "file_change" });
    expect(requestsOf(seen, "unchanged")[0]).toMatchObject({
      question: "file_change",
      text: expect.stringContaining("add /workspace/a.txt\nhello"),
    });
    expect(requestsOf(seen, "asked")[0]).toMatchObject({
      question: "question",
      options: ["Red", "Blue"],
      text: "Colour: Which?\n- Red: warm\n- Blue: cold",
    });
  });

  it("Modes are opened with the policy that they mean, and plan mode is told with the turn", async () => {
    const { sent } = await play("approvals");
    const [asking, planning] = sent.filter(({ method }) => method === "thread/start").map(({ params }) => params);
    expect(asking).toMatchObject({ approvalPolicy: "untrusted", sandbox: "workspace-write", historyMode: "paginated" });
    expect(planning).toMatchObject({ approvalPolicy: "never", sandbox: "read-only" });
    expect(sent.findLast(({ method }) => method === "turn/start")?.params).toMatchObject({ collaborationMode: { mode: "plan" } });
  });

  it("A failed turn tells the status of the model's endpoint as a code, a reason and what to do", async () => {
    const { seen } = await play("failures");
    const errors = Object.keys(seen).map((step) => endOf(seen, step));
    expect(errors.map((end) => (end?.type === "ended" ? [end.ending, end.error?.code, end.error?.reason] : []))).toEqual([
      ["failed", "invalid_request", "provider_rejected_input"],
      ["failed", "provider_unavailable", "login_required"],
      ["failed", "provider_unavailable", "usage_limit"],
      ["failed", "provider_unavailable", "provider_overloaded"],
    ]);
    expect(endOf(seen, "401")).toMatchObject({
      error: { message: expect.stringContaining("told 401"), hint: expect.stringContaining("codex login") },
    });
    expect(endOf(seen, "400")).toMatchObject({ error: { message: "Codex: told 400" } });
  });

  it("F05 A fork is asked for at its turn; a refused one is impossible, and inputs are looked up by our id", async () => {
    const { seen, sent } = await play("history");
    const [refused, honoured] = sent.filter(({ method }) => method === "thread/fork").map(({ params }) => params!);
    expect([refused?.excludeTurns, honoured?.excludeTurns]).toEqual([true, true]);
    expect(seen.refused).toMatchObject({
      openFailed: true,
      refusal: { reason: "native_fork_refused", message: expect.stringContaining("turn not found") },
    });
    expect(endOf(seen, "forked")).toMatchObject({ ending: "completed" });
    expect(seen.found).toMatchObject({ outcome: "accepted", ending: "completed", turnRef: { strength: "strong" } });
    expect(seen.absent).toEqual({ outcome: "absent" });
  });

  it("A conversation is taken back before its first later turn, once, and the turns are read before and after it", async () => {
    const { seen, sent } = await play("rewind");
    const methods = sent.map(({ method }) => method).filter((method) => /resume|revert|turns\/list/.test(method ?? ""));
    expect(methods).toEqual([
      ...["thread/resume", "thread/turns/list", "thread/revert", "thread/turns/list"],
      ...["thread/resume", "thread/turns/list"],
      ...["thread/resume", "thread/turns/list"],
    ]);
    expect(endOf(seen, "fourth")).toMatchObject({ ending: "completed" });
    expect(seen.refused).toMatchObject({ openFailed: true, rewindRefused: true, refusal: { reason: "native_rewind_refused" } });
  });

  it("R02 An interrupted turn and one whose process is killed both end once, with what the model had said so far", async () => {
    const { seen } = await play("ends");
    const half = { type: "item", truncated: true, body: assistant("half a mess") };
    expect(eventsOf(seen, "interrupted").slice(-2)).toMatchObject([half, { type: "ended", ending: "interrupted", error: null }]);
    expect(eventsOf(seen, "died").slice(-2)).toMatchObject([
      half,
      { type: "ended", ending: "failed", error: { code: "provider_unavailable", reason: "provider_process_died" } },
    ]);
  });
});

describe("what Codex could say", () => {
  const until = (lines: Line[], last: string) => lines.slice(0, lines.findIndex((line) => "got" in line && line.got.method === last) + 1);

  it("Frames of unknown kinds, of other threads and of other turns, and lines that are none, change nothing", async () => {
    const lines = readRecording("turns");
    const at = lines.findIndex((line) => "got" in line && line.got.method === "turn/started");
    const own = lines[at] as { got: { params: Record<string, unknown> } };
    const threadId = own.got.params.threadId;
    const noise = [
      { method: "thread/dreamt", params: { threadId } },
      { method: "nothing" },
      { method: "item/completed", params: { threadId, turnId: "another", item: { type: "agentMessage", id: "x", text: "not this turn" } } },
      {
        method: "item/completed",
        params: { threadId: "another", turnId: "another", item: { type: "agentMessage", id: "x", text: "nor this" } },
      },
      { method: "item/completed", params: { ...own.got.params, item: { type: "telepathy", id: "x" } } },
      { method: "item/completed", params: { threadId, item: { type: "fileChange", id: "x", changes: "not a list" } } },
      { method: "turn/completed", params: { threadId, turn: { id: "another", status: "failed" } } },
    ];
    const { adapter } = adapterOf(lines.toSpliced(at + 1, 0, ...noise.map((got) => ({ got }))));
    const seen: Seen = await scenarios.turns.play(adapter, folder);
    expect(bodies(seen, "said")).toEqual([assistant("one two")]);
    expect(endOf(seen, "said")).toMatchObject({ ending: "completed" });
    await adapter.close();
  });

  it("A request that no person can answer is refused, so that Codex does not wait for it", async () => {
    const lines = readRecording("turns");
    const at = lines.findIndex((line) => "got" in line && line.got.method === "turn/started");
    const threadId = (lines[at] as { got: { params: Record<string, unknown> } }).got.params.threadId;
    const ask = { got: { id: 77, method: "item/tool/call", params: { threadId, tool: "unknown" } } };
    const { adapter, sent } = adapterOf(lines.toSpliced(at + 1, 0, ask, { sent: { id: 77 } }));
    const seen: Seen = await scenarios.turns.play(adapter, folder);
    expect(sent.find(({ id, method }) => id === 77 && method === undefined)).toMatchObject({ error: { code: -32601 } });
    expect(endOf(seen, "patched")).toMatchObject({ ending: "completed" });
    await adapter.close();
  });

  it("A revert that says that it is done is not believed while the turns are there", async () => {
    const lines = readRecording("rewind");
    const lists = lines.flatMap((line, at) => ("sent" in line && line.sent.method === "thread/turns/list" ? [at] : []));
    const answerTo = (at: number) => {
      const { id } = (lines[at] as { sent: { id: number } }).sent;
      return lines.findIndex((line) => "got" in line && line.got.method === undefined && line.got.id === id);
    };
    const [before, after] = [answerTo(lists[0]!), answerTo(lists[1]!)];
    const { got } = lines[before] as { got: { result: unknown } };
    const { adapter } = adapterOf(lines.with(after, { got: { ...(lines[after] as { got: object }).got, result: got.result } }));
    await expect(scenarios.rewind.play(adapter, folder)).rejects.toMatchObject({
      rewindRefused: true,
      refusal: { message: expect.stringContaining("has not") },
    });
    await adapter.close();
  });

  it("A process that ends before it accepts the input rejects the start and tells the sink nothing", async () => {
    const lines = readRecording("ends");
    const start = lines.findIndex((line) => "sent" in line && line.sent.method === "turn/start");
    const { adapter } = adapterOf([...lines.slice(0, start + 1), { exit: { code: 1, signal: null } }]);
    await expect(scenarios.ends.play(adapter, folder)).rejects.toMatchObject({ refusal: { reason: "provider_process_died" } });
    await adapter.close();
  });

  it("A process that ends in the same moment as it accepts still tells the acceptance first and one end after it", async () => {
    const lines = until(readRecording("ends"), "turn/started");
    const { adapter } = adapterOf([...lines, { exit: { code: 1, signal: null } }]);
    const session = await adapter.open(
      { kind: "new", cwd: folder, model: null, modes: { runtimeMode: "full-access", interactionMode: "default" }, threadId: "thread:test" },
      new AbortController().signal,
    );
    const told: string[] = [];
    const input = { attemptId: "attempt:x", runId: "run:x", context: [], message: "HALF one" };
    const ended = new Promise<void>((resolve) => {
      void session
        .startTurn(
          input,
          ({ type }) => {
            told.push(type);
            if (type === "ended") resolve();
          },
          new AbortController().signal,
        )
        .then(({ turnRef }) => told.push(turnRef === null ? "no turn" : "accepted"));
    });
    await ended;
    expect([told[0], told.at(-1), told.filter((type) => type === "ended").length]).toEqual(["accepted", "ended", 1]);
    await adapter.close();
  });

  it("A process that ends while it asks closes what it asked before the turn ends", async () => {
    const lines = until(readRecording("approvals"), "item/commandExecution/requestApproval");
    const { adapter } = adapterOf([...lines, { exit: { code: null, signal: "SIGKILL" } }]);
    const session = await adapter.open({ kind: "new", cwd: folder, model: null, modes: asking, threadId: "thread:test" }, never);
    const log = new TurnLog();
    await session.startTurn({ attemptId: "attempt:x", runId: "run:x", context: [], message: "RUN" }, log.sink, never);
    const { requestId } = await log.asked();
    await log.ended();
    const left = log.events.slice(log.events.findIndex(({ type }) => type === "request_opened"));
    expect(left.map(({ type }) => type)).toEqual(["request_opened", "item", "request_closed", "ended"]);
    await expect(session.answer(requestId, "accept")).rejects.toMatchObject({ refusal: { reason: "unknown_request" } });
    await adapter.close();
  });

  it("A thread that is opened with more than its modes allow is refused", async () => {
    const lines = readRecording("ends").map((line) => {
      if (!("got" in line) || line.got.id !== 2) return line;
      return { got: { ...line.got, result: { ...(line.got.result as object), approvalPolicy: "never" } } };
    });
    const opened = lines.findIndex((line) => "got" in line && line.got.id === 2);
    const { adapter, sent } = adapterOf([
      ...lines.slice(0, opened + 1),
      { sent: { id: 3, method: "thread/unsubscribe" } },
      { got: { id: 3, result: {} } },
    ]);
    const open = adapter.open({ kind: "new", cwd: folder, model: null, modes: asking, threadId: "thread:test" }, never);
    await expect(open).rejects.toMatchObject({ refusal: { reason: "modes_not_honoured" } });
    expect(sent.at(-1)?.method).toBe("thread/unsubscribe");
    await adapter.close();
  });

  it("A Codex that is older than what this adapter relies on is told by its version", async () => {
    const lines = readRecording("ends").map((line) => {
      if (!("got" in line) || line.got.id !== 1) return line;
      return { got: { ...line.got, result: { userAgent: "ropewalk/0.142.0 (somewhere)" } } };
    });
    const { adapter } = adapterOf(lines);
    await expect(scenarios.ends.play(adapter, folder)).rejects.toMatchObject({
      refusal: { reason: "provider_too_old", message: expect.stringContaining("0.142") },
    });
    await adapter.close();
  });
});
