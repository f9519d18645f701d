import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { defaultModes, type Modes } from "../../schemas/modes.ts";
import { createCodexAdapter } from "../../services/providers/codex/adapter.ts";
import type { OpenSession, ProviderAdapter, ProviderSession } from "../../services/providers/contract.ts";
import { readRecording, recorder, replay } from "../support/codex-recording.ts";
import { onKill, type ScenarioName, type Seen, scenarios } from "../support/codex-scenarios.ts";
import { ModelEndpoint, type ModelRule, say, shell, when } from "../support/model-endpoint.ts";
import { RealCodex } from "../support/real-codex.ts";
import { input, runTurn, TurnLog } from "../support/turn-log.ts";

const never = new AbortController().signal;
const fullAccess: Modes = { runtimeMode: "full-access", interactionMode: "default" };
const asking: Modes = { runtimeMode: "approval-required", interactionMode: "default" };
const silence: ModelRule = when("SILENT", { kind: "silence" });

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** A model that answers by `rules`, and a Codex that talks to it. */
async function world(...rules: ModelRule[]) {
  const endpoint = await ModelEndpoint.start(...rules);
  cleanups.push(() => endpoint[Symbol.asyncDispose]());
  const codex = await RealCodex.create(endpoint);
  cleanups.push(() => codex[Symbol.dispose]());
  const adapter = (): ProviderAdapter => {
    const made = createCodexAdapter({ instance: "codex", config: codex.config, stateDir: codex.stateDir });
    cleanups.push(() => made.close());
    return made;
  };
  const request = (modes: Modes = fullAccess) => ({ cwd: codex.workspace, model: null, modes, threadId: "thread:test" });
  const start = (on: ProviderAdapter, modes?: Modes) => on.open({ ...request(modes), kind: "new" }, never);
  const resume = (on: ProviderAdapter, { nativeRef }: Pick<ProviderSession, "nativeRef">, modes?: Modes) =>
    on.open({ ...request(modes), kind: "resume", nativeRef }, never);
  const fork = (on: ProviderAdapter, { nativeRef }: ProviderSession, turnRef: Extract<OpenSession, { kind: "fork" }>["turnRef"]) =>
    on.open({ ...request(), kind: "fork", nativeRef, turnRef }, never);
  return { endpoint, codex, adapter, start, resume, fork, request };
}

/** The app-servers that run with this Codex's home, by their environment. */
function processesOf(codex: RealCodex): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return (
          readFileSync(`/proc/${pid}/environ`, "utf8").includes(`CODEX_HOME=${codex.home}`) &&
          readlinkSync(`/proc/${pid}/exe`).endsWith("codex")
        );
      } catch {
        return false;
      }
    })
    .map(Number);
}

const transcript = (endpoint: ModelEndpoint) =>
  endpoint.requests.at(-1)!.transcript.filter((line) => /^(user|assistant): (?!<)/.test(line));

describe("turns", () => {
  it("A first turn gives the input, tells progress and the items, and ends once", async () => {
    const { endpoint, adapter, start } = await world(when("SAY", say("one two", "one", " two")));
    const on = adapter();
    expect(on.capabilities.contextWindow).toBeNull();
    const session = await start(on);
    const { log, ended, turnRef } = await runTurn(session, "SAY it");

    expect(session.nativeRef).toMatchObject({ strength: "strong" });
    expect(endpoint.requests.map(({ threadId }) => threadId)).toEqual([session.nativeRef.id]);
    expect(log.events.flatMap((event) => (event.type === "progress" ? [event.text] : []))).toEqual(["one", "one two"]);
    expect(log.items.map(({ body }) => body)).toEqual([{ kind: "assistant_message", content: { text: "one two" } }]);
    expect(ended).toEqual({ type: "ended", ending: "completed", error: null, turnRef });
    expect(log.events.filter(({ type }) => type === "ended")).toHaveLength(1);
    expect(on.capabilities.contextWindow).toBeGreaterThan(1000);
  });

  it("A conversation goes on in a new process with everything that was said", async () => {
    const { endpoint, adapter, start, resume } = await world();
    const first = adapter();
    const session = await start(first);
    await runTurn(session, "the codeword is heron");
    await first.close();
    const resumed = await resume(adapter(), session);
    await runTurn(resumed, "what was it");

    expect(resumed.nativeRef).toEqual(session.nativeRef);
    expect(transcript(endpoint)).toEqual(["user: the codeword is heron", "assistant: ok", "user: what was it"]);
  });

  it("Handoffs of any size reach the model whole, in order, before the message", async () => {
    const { endpoint, adapter, start } = await world();
    const session = await start(adapter());
    const long = Array.from({ length: 3_000 }, (_, line) => `${line}: ${"naïve 漢字 😀 ".repeat(line % 5)}`).join("\n");
    await runTurn(session, input("now this", { context: ["first handoff", long, "last handoff"] }));

    const told = endpoint.requests.at(-1)!.transcript.filter((line) => line.startsWith("developer: <handoff-"));
    const values = told.map((line) => line.replace(/^developer: <[^>]+>/, "").replace(/<\/[^>]+>$/, ""));
    expect(values[0]).toBe("first handoff");
    expect(values.slice(1, -1).join("")).toBe(long);
    expect(values.at(-1)).toBe("last handoff");
    expect(endpoint.requests.at(-1)!.transcript.at(-1)).toBe("user: now this");
  });

  it("What a native subagent does is seen, and what it asks is asked here", async () => {
    const childDone = Promise.withResolvers<void>();
    const spawn = { kind: "tool", namespace: "multi_agent_v1", name: "spawn_agent", arguments: { message: "CHILD task" } } as const;
    const { codex, endpoint, adapter, start } = await world(
      when("CHILD", shell("touch made-by-child"), say("child done")),
      when("SPAWN", spawn, { kind: "later", until: childDone.promise, reply: say("spawned") }),
    );
    const session = await start(adapter(), asking);
    const log = new TurnLog();
    await session.startTurn(input("SPAWN one"), log.sink, never);
    const request = await log.asked();
    expect(request.text).toContain("touch made-by-child");
    await session.answer(request.requestId, "accept");
    await expect.poll(() => existsSync(join(codex.workspace, "made-by-child")), { timeout: 10_000 }).toBe(true);
    childDone.resolve();
    expect((await log.ended()).ending).toBe("completed");
    expect(log.items.map(({ body }) => body.kind)).toEqual(["subagent", "assistant_message"]);
    expect(endpoint.about("CHILD")[0]?.threadId).not.toBe(session.nativeRef.id);
  });

  it("The same handoff twice is told twice", async () => {
    const { endpoint, adapter, start } = await world();
    const session = await start(adapter());
    for (const message of ["one", "two"]) await runTurn(session, input(message, { context: ["the same"] }));
    expect(endpoint.requests.at(-1)!.transcript.filter((line) => line.includes(">the same<"))).toHaveLength(2);
  });

  it("Two conversations run at once in one process, and neither hears of the other", async () => {
    const both = Promise.withResolvers<void>();
    const { endpoint, codex, adapter, start } = await world(
      when("LEFT", { kind: "later", until: both.promise, reply: say("left") }),
      when("RIGHT", { kind: "later", until: both.promise, reply: say("right") }),
    );
    const on = adapter();
    const sessions = await Promise.all([start(on), start(on)]);
    const turns = Promise.all([runTurn(sessions[0], "LEFT"), runTurn(sessions[1], "RIGHT")]);
    await expect.poll(() => endpoint.requests.length).toBe(2);
    expect(processesOf(codex)).toHaveLength(1);
    both.resolve();
    const [left, right] = await turns;
    expect([left.log.said, right.log.said]).toEqual([["left"], ["right"]]);
  });

  it("A second turn during a turn is refused and does not reach the model", async () => {
    const { endpoint, adapter, start } = await world(silence);
    const session = await start(adapter());
    const log = new TurnLog();
    await session.startTurn(input("SILENT"), log.sink, never);
    await expect(session.startTurn(input("second"), log.sink, never)).rejects.toMatchObject({ refusal: { reason: "turn_running" } });
    await session.interrupt();
    await log.ended();
    expect((await runTurn(session, "third")).ended.ending).toBe("completed");
    expect(endpoint.about("second")).toEqual([]);
  });

  it("A working folder that is gone is told before anything starts", async () => {
    const { codex, adapter, start } = await world();
    rmSync(codex.workspace, { recursive: true });
    await expect(start(adapter())).rejects.toMatchObject({ refusal: { code: "invalid_request", reason: "workspace_missing" } });
    expect(processesOf(codex)).toEqual([]);
  });
});

describe("forks", () => {
  it("F01 F06 A fork at the first of three turns knows that turn and nothing of the later ones", async () => {
    const { endpoint, adapter, start, fork } = await world();
    const on = adapter();
    const source = await start(on);
    const first = await runTurn(source, "first: heron");
    await runTurn(source, "second: stork");
    await runTurn(source, "third: crane");
    const forked = await fork(on, source, first.turnRef!);
    await runTurn(forked, "in the fork");

    expect(forked.nativeRef.id).not.toBe(source.nativeRef.id);
    expect(transcript(endpoint)).toEqual(["user: first: heron", "assistant: ok", "user: in the fork"]);
    await runTurn(source, "fourth");
    expect(transcript(endpoint)).not.toContain("user: in the fork");
  });

  it("A source is forked at an earlier turn while a later one runs, in a new process too", async () => {
    const { endpoint, adapter, start, fork } = await world(silence);
    const on = adapter();
    const source = await start(on);
    const first = await runTurn(source, "first");
    const log = new TurnLog();
    await source.startTurn(input("SILENT second"), log.sink, never);
    await expect.poll(() => endpoint.about("SILENT")).toHaveLength(1);
    await runTurn(await fork(on, source, first.turnRef!), "here");
    await runTurn(await fork(adapter(), source, first.turnRef!), "there");
    expect(endpoint.requests.slice(-2).map(({ transcript: told }) => told.some((line) => line.includes("SILENT")))).toEqual([false, false]);
    await source.interrupt();
    await log.ended();
  });

  it("A turn that is known only by our message id is found for the fork", async () => {
    const { endpoint, adapter, start, fork } = await world();
    const on = adapter();
    const source = await start(on);
    const first = input("first");
    await runTurn(source, first);
    await runTurn(source, "second");
    await runTurn(await fork(on, source, { id: first.attemptId, strength: "none" }), "third");
    expect(transcript(endpoint)).toEqual(["user: first", "assistant: ok", "user: third"]);
    await expect(fork(on, source, { id: "attempt:unknown", strength: "none" })).rejects.toMatchObject({ openFailed: true });
  });

  it("F05 A fork at a turn that Codex does not have, or of a thread that it does not have, is impossible and not merely unavailable", async () => {
    const { adapter, start, fork } = await world();
    const on = adapter();
    const source = await start(on);
    const { turnRef } = await runTurn(source, "first");
    const unknown = "01970000-0000-7000-8000-000000000000";
    await expect(fork(on, source, { id: unknown, strength: "strong" })).rejects.toMatchObject({
      openFailed: true,
      refusal: { code: "provider_unavailable", reason: "native_fork_refused" },
    });
    const nowhere = { ...source, nativeRef: { id: unknown, strength: "strong" } } as ProviderSession;
    await expect(fork(on, nowhere, turnRef!)).rejects.toMatchObject({ openFailed: true });
    expect((await runTurn(source, "goes on")).ended.ending).toBe("completed");
  });

  it("A conversation that Codex does not have cannot be resumed", async () => {
    const { adapter, resume } = await world();
    const gone = { nativeRef: { id: "01970000-0000-7000-8000-000000000000", strength: "strong" as const } };
    await expect(resume(adapter(), gone)).rejects.toMatchObject({ openFailed: true, refusal: { reason: "native_thread_not_found" } });
  });
});

describe("interrupts", () => {
  it("An interrupt ends a turn of a model that answers nothing at all, even when it comes at once", async () => {
    const { adapter, start } = await world(silence);
    const session = await start(adapter());
    for (const message of ["SILENT one", "SILENT two"]) {
      const log = new TurnLog();
      await session.startTurn(input(message), log.sink, never);
      await session.interrupt();
      expect(await log.ended()).toMatchObject({ ending: "interrupted", error: null });
    }
    await session.interrupt();
    expect((await runTurn(session, "then")).ended.ending).toBe("completed");
  });

  it("What the model had said when it was interrupted is kept as the piece that it is", async () => {
    const { adapter, start } = await world(when("HALF", { kind: "silence", afterDelta: "half a mess" }));
    const session = await start(adapter());
    const log = new TurnLog();
    await session.startTurn(input("HALF"), log.sink, never);
    await log.until(({ type }) => type === "progress");
    await session.interrupt();
    await log.ended();
    expect(log.items).toMatchObject([{ truncated: true, body: { content: { text: "half a mess" } } }]);
  });

  it("A command that runs when its turn is interrupted is ended, and what it printed is kept", async () => {
    const { codex, adapter, start } = await world(when("RUN", shell("for i in $(seq 200); do echo begun; sleep 0.1; done")));
    const session = await start(adapter());
    const log = new TurnLog();
    await session.startTurn(input("RUN"), log.sink, never);
    // Its output keeps the lease: by then it has been told as started.
    await expect.poll(() => log.events.filter(({ type }) => type === "alive").length, { timeout: 10_000 }).toBeGreaterThan(15);
    expect(runningIn(codex)).not.toEqual([]);
    await session.interrupt();
    expect((await log.ended()).ending).toBe("interrupted");
    expect(log.items).toMatchObject([{ body: { kind: "command", output: { text: expect.stringContaining("begun") } } }]);
    expect(runningIn(codex)).toEqual([]);
  });

  it("S08 R03 A start that is given up does not leave a turn running", async () => {
    const { endpoint, adapter, start } = await world(silence);
    const session = await start(adapter());
    const log = new TurnLog();
    const aborter = new AbortController();
    const starting = session.startTurn(input("SILENT"), log.sink, aborter.signal);
    aborter.abort();
    await expect(starting).rejects.toMatchObject({ refusal: { reason: "start_aborted" } });
    await session.detach();
    expect(log.events).toEqual([]);
    expect(endpoint.about("SILENT").length).toBeLessThanOrEqual(1);
  });

  it("S08 R03 An opening that is given up rejects at once and leaves nothing loaded", async () => {
    const { adapter, start, request } = await world();
    const on = adapter();
    const aborter = new AbortController();
    const opening = on.open({ ...request(), kind: "new" }, aborter.signal);
    aborter.abort();
    await expect(opening).rejects.toMatchObject({ refusal: { reason: "open_aborted" }, openFailed: false });
    expect((await runTurn(await start(on), "works")).ended.ending).toBe("completed");
  });
});

/** Shell commands that still run in this Codex's workspace. */
function runningIn(codex: RealCodex): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        return readlinkSync(`/proc/${pid}/cwd`).startsWith(codex.workspace) ? [readFileSync(`/proc/${pid}/cmdline`, "utf8")] : [];
      } catch {
        return [];
      }
    });
}

const patch = shell("apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: a.txt\n+hello\n*** End Patch\nEOF");

describe("approvals and modes", () => {
  const run = when("RUN", shell("touch made"), say("done"));

  it("An accepted command runs, a declined one does not and the turn goes on, a cancelled one ends the turn", async () => {
    const { codex, endpoint, adapter, start } = await world(run);
    const session = await start(adapter(), asking);
    const made = () => existsSync(join(codex.workspace, "made"));

    const declined = await askedTurn(session, "RUN it", "decline");
    expect(declined.request).toMatchObject({ question: "command", options: ["accept", "accept_for_session", "decline", "cancel"] });
    expect(declined.request.text).toContain("touch made");
    expect(declined.ended.ending).toBe("completed");
    expect(declined.log.items).toMatchObject([{ body: { kind: "command", exitCode: null } }, { body: { kind: "assistant_message" } }]);
    expect(endpoint.requests.at(-1)!.outputs.join()).toContain("rejected");
    expect(made()).toBe(false);

    expect((await askedTurn(session, "RUN again", "cancel")).ended.ending).toBe("interrupted");
    expect(made()).toBe(false);

    const accepted = await askedTurn(session, "RUN again", "accept");
    expect(accepted.log.items).toMatchObject([{ body: { kind: "command", exitCode: 0 } }, { body: { kind: "assistant_message" } }]);
    expect(accepted.log.events.filter(({ type }) => type === "request_closed")).toHaveLength(1);
    expect(made()).toBe(true);
  });

  it("A command that is accepted for the session is not asked for again", async () => {
    const { adapter, start } = await world(when("TWICE", shell("touch made"), shell("touch made"), say("done")));
    const { log, ended } = await askedTurn(await start(adapter(), asking), "TWICE", "accept_for_session");
    expect(ended.ending).toBe("completed");
    expect(log.events.filter(({ type }) => type === "request_opened")).toHaveLength(1);
  });

  it("A file change is asked for with its diff; accepted it is told as a change, declined as a call that did not succeed", async () => {
    const { codex, adapter, start } = await world(when("PATCH", patch, say("done")));
    const session = await start(adapter(), asking);
    const declined = await askedTurn(session, "PATCH", "decline");
    expect(declined.request).toMatchObject({ question: "file_change", text: expect.stringContaining("hello") });
    expect(declined.log.items[0]).toMatchObject({ body: { kind: "tool_call", tool: "apply_patch", ok: false } });
    expect(existsSync(join(codex.workspace, "a.txt"))).toBe(false);
    const accepted = await askedTurn(session, "PATCH", "accept");
    expect(accepted.log.items[0]).toMatchObject({ body: { kind: "file_change", changes: [{ change: "add" }] } });
    expect(existsSync(join(codex.workspace, "a.txt"))).toBe(true);
  });

  it("An answer to a request that is not open is refused, and an interrupt closes the open ones", async () => {
    const { adapter, start } = await world(run);
    const session = await start(adapter(), asking);
    const log = new TurnLog();
    await session.startTurn(input("RUN"), log.sink, never);
    const { requestId } = await log.asked();
    await expect(session.answer("another", "accept")).rejects.toMatchObject({ refusal: { reason: "unknown_request" } });
    await expect(session.answer(requestId, "perhaps")).rejects.toMatchObject({ refusal: { reason: "unknown_answer" } });
    await session.interrupt();
    await log.ended();
    expect(log.events.filter((event) => "requestId" in event).map(({ type }) => type)).toEqual(["request_opened", "request_closed"]);
    await expect(session.answer(requestId, "accept")).rejects.toMatchObject({ refusal: { reason: "unknown_request" } });
  });

  it("In plan mode the agent can ask questions and cannot write; afterwards the thread is in default mode again", async () => {
    const question = {
      id: "colour",
      header: "Colour",
      question: "Which?",
      options: [
        { label: "Red", description: "warm" },
        { label: "Blue", description: "cold" },
      ],
    };
    const { codex, endpoint, adapter, start, resume } = await world(
      when("ASK", { kind: "tool", name: "request_user_input", arguments: { questions: [question] } }, say("noted")),
      when("WRITE", shell("touch made"), say("tried")),
    );
    const on = adapter();
    const session = await start(on, { runtimeMode: "full-access", interactionMode: "plan" });
    const { request } = await askedTurn(session, "ASK me", "Blue");
    expect(request).toMatchObject({ question: "question", options: ["Red", "Blue"], text: expect.stringContaining("Which?") });
    expect(endpoint.requests.at(-1)!.outputs).toEqual([expect.stringContaining("Blue")]);
    await runTurn(session, "WRITE");
    expect(existsSync(join(codex.workspace, "made"))).toBe(false);

    const back = await resume(on, session, fullAccess);
    await runTurn(back, "WRITE");
    expect(existsSync(join(codex.workspace, "made"))).toBe(true);
    expect(endpoint.requests.at(-1)!.transcript.findLast((line) => line.startsWith("developer: "))).toContain("Default");
  });

  it("A conversation that is opened again with narrower modes works with those", async () => {
    const { adapter, start, resume } = await world(run);
    const on = adapter();
    const broad = await start(on, fullAccess);
    await runTurn(broad, "hello");
    const narrow = await resume(on, broad, asking);
    expect((await askedTurn(narrow, "RUN", "decline")).ended.ending).toBe("completed");
    await expect(broad.startTurn(input("late"), () => undefined, never)).rejects.toMatchObject({ refusal: { reason: "session_detached" } });
  });

  it("Keys of the provider are not in the environment of the agent's commands", async () => {
    const { endpoint, adapter, start } = await world(when("ENV", shell("env"), say("done")));
    await runTurn(await start(adapter(), defaultModes), "ENV");
    const [printed = ""] = endpoint.requests.at(-1)!.outputs;
    expect(printed).toContain("HOME=");
    expect(printed).not.toContain("FAKE_KEY");
  });

  async function askedTurn(session: ProviderSession, message: string, answer: string) {
    const log = new TurnLog();
    await session.startTurn(input(message), log.sink, never);
    const request = await log.asked();
    await session.answer(request.requestId, answer);
    return { log, request, ended: await log.ended() };
  }
});

describe("failures", () => {
  const statuses = [401, 403, 404, 429, 400, 500].map((status) =>
    when(`E${status}.`, { kind: "status", status, message: `told ${status}` }),
  );
  const expected: [number, string, string][] = [
    [401, "provider_unavailable", "login_required"],
    [403, "provider_unavailable", "access_denied"],
    [404, "model_unavailable", "model_not_found"],
    [429, "provider_unavailable", "usage_limit"],
    [400, "invalid_request", "provider_rejected_input"],
    [500, "provider_unavailable", "provider_overloaded"],
  ];

  it("What the model's endpoint refuses fails the turn with what a person can do, and the conversation goes on", async () => {
    const { adapter, start } = await world(...statuses);
    const session = await start(adapter());
    for (const [status, code, reason] of expected) {
      const { ended } = await runTurn(session, `E${status}.`);
      expect(ended).toMatchObject({ ending: "failed", error: { code, reason } });
      expect(ended.error?.hint).not.toBe("");
    }
    expect((await runTurn(session, "fine")).ended.ending).toBe("completed");
  });

  it("An endpoint that cannot be reached fails the turn instead of being retried for ever", async () => {
    const { endpoint, adapter, start } = await world();
    const session = await start(adapter());
    await endpoint[Symbol.asyncDispose]();
    expect((await runTurn(session, "hello")).ended).toMatchObject({ ending: "failed", error: { reason: "endpoint_unreachable" } });
  });

  it("A missing key is told as a missing login", async () => {
    const { codex, adapter, start } = await world();
    delete codex.config.env?.FAKE_KEY;
    expect((await runTurn(await start(adapter()), "hello")).ended).toMatchObject({ ending: "failed", error: { reason: "login_required" } });
  });

  it("R02 A process that is killed ends its turns as failed, and the next opening goes on in a new process", async () => {
    const { codex, adapter, start, resume } = await world(when("HALF", { kind: "silence", afterDelta: "half" }));
    const on = adapter();
    const session = await start(on);
    const other = await start(on);
    await runTurn(session, "before");
    const log = new TurnLog();
    await session.startTurn(input("HALF"), log.sink, never);
    await log.until(({ type }) => type === "progress");
    const [pid = 0] = processesOf(codex);
    process.kill(pid, "SIGKILL");

    expect(await log.ended()).toMatchObject({ ending: "failed", error: { code: "provider_unavailable", reason: "provider_process_died" } });
    expect(log.items).toMatchObject([{ truncated: true }]);
    await expect(other.startTurn(input("x"), log.sink, never)).rejects.toMatchObject({ refusal: { reason: "provider_process_died" } });
    await session.detach();
    expect((await runTurn(await resume(on, session), "after")).ended.ending).toBe("completed");
    expect(log.events.filter(({ type }) => type === "ended")).toHaveLength(1);
  });

  it("A binary that is missing or cannot start is told with what to do", async () => {
    const { codex, adapter, start } = await world();
    codex.config.bin = join(codex.folder, "nowhere");
    await expect(start(adapter())).rejects.toMatchObject({
      refusal: { reason: "provider_not_installed", hint: expect.stringContaining("npm install") },
    });
    codex.config.bin = "/bin/false";
    await expect(start(adapter())).rejects.toMatchObject({ openFailed: false, refusal: { reason: "provider_process_died" } });
  });
});

describe("after a crash of ours", () => {
  it("An input that was given is found with its turn and how it ended; one that was not is absent", async () => {
    const { codex, endpoint, adapter, start } = await world(silence, when("E401.", { kind: "status", status: 401, message: "no" }));
    const on = adapter();
    const session = await start(on);
    const [done, failed, cut] = [input("done"), input("E401."), input("SILENT")];
    const { turnRef } = await runTurn(session, done);
    await runTurn(session, failed);
    const log = new TurnLog();
    await session.startTurn(cut, log.sink, never);
    await expect.poll(() => endpoint.about("SILENT")).toHaveLength(1);
    const query = { cwd: codex.workspace, threadId: "thread:test", nativeRef: session.nativeRef };

    expect(await on.lookup({ ...query, attemptId: cut.attemptId })).toMatchObject({ outcome: "accepted", ending: null });
    process.kill(processesOf(codex)[0]!, "SIGKILL");
    await log.ended();
    const fresh = adapter();
    expect(await fresh.lookup({ ...query, attemptId: done.attemptId })).toEqual({
      outcome: "accepted",
      nativeRef: session.nativeRef,
      turnRef,
      ending: "completed",
    });
    expect(await fresh.lookup({ ...query, attemptId: failed.attemptId })).toMatchObject({ outcome: "accepted", ending: "failed" });
    expect(await fresh.lookup({ ...query, attemptId: cut.attemptId })).toMatchObject({ outcome: "accepted", ending: "interrupted" });
    expect(await fresh.lookup({ ...query, attemptId: "attempt:never" })).toEqual({ outcome: "absent" });
  });

  it("Without a native ref the input is found in its folder; what is found nowhere is unknown", async () => {
    const { codex, adapter, start } = await world();
    const on = adapter();
    const given = input("hello");
    const session = await start(on);
    await runTurn(session, given);
    await runTurn(await start(on), "another");
    const query = { cwd: codex.workspace, threadId: "thread:test", nativeRef: null };
    expect(await on.lookup({ ...query, attemptId: given.attemptId })).toMatchObject({ outcome: "accepted", nativeRef: session.nativeRef });
    expect(await on.lookup({ ...query, attemptId: "attempt:never" })).toEqual({ outcome: "unknown" });
    const gone = { id: "01970000-0000-7000-8000-000000000000", strength: "strong" as const };
    expect(await on.lookup({ ...query, nativeRef: gone, attemptId: "attempt:never" })).toEqual({ outcome: "unknown" });
  });
});

describe("recordings", () => {
  /** What does not differ from one run to the next. */
  const shapeOf = (seen: Seen) => {
    const own = (key: string, value: unknown) =>
      ["nativeId", "requestId", "nativeRef", "turnRef", "stderr"].includes(key) ? undefined : value;
    const events = Object.entries(seen).map(([step, told]) => [
      step,
      Array.isArray(told) ? told.filter(({ type }) => type !== "alive") : told,
    ]);
    return JSON.stringify(events, own, 1);
  };

  for (const name of Object.keys(scenarios) as ScenarioName[]) {
    it(`The binary still does what the default suite replays: ${name}`, async () => {
      const { rules, play } = scenarios[name];
      const { codex, endpoint } = await world(...rules);
      const { start, children } = recorder([]);
      onKill.current = async () => children.at(-1)?.kill("SIGKILL");
      const options = { instance: "codex", config: codex.config, stateDir: codex.stateDir };
      const real = createCodexAdapter({ ...options, startChild: start });
      const recorded = createCodexAdapter({ ...options, startChild: replay(readRecording(name)).start });
      cleanups.push(() => Promise.all([real.close(), recorded.close()]));
      const seen = shapeOf(await play(real, codex.workspace));
      const expected = shapeOf(await play(recorded, codex.workspace));
      expect(seen.replaceAll(codex.workspace, "/workspace").replaceAll(endpoint.baseUrl, "http://127.0.0.1:1/v1")).toBe(expected);
    });
  }
});

describe("processes", () => {
  it("Another process may write once a session is detached, and not before", async () => {
    const { adapter, start, resume } = await world();
    const [one, two] = [adapter(), adapter()];
    const session = await start(one);
    await runTurn(session, "first");
    await expect(resume(two, session)).rejects.toMatchObject({ openFailed: false, refusal: { reason: "native_thread_in_use" } });
    await session.detach();
    await session.detach();
    expect((await runTurn(await resume(two, session), "second")).ended.ending).toBe("completed");
  });

  it("Closing ends the process and the turns in it, and nothing can be opened afterwards", async () => {
    const { codex, endpoint, adapter, start } = await world(silence);
    const on = adapter();
    const session = await start(on);
    const log = new TurnLog();
    await session.startTurn(input("SILENT"), log.sink, never);
    await expect.poll(() => endpoint.about("SILENT")).toHaveLength(1);
    expect(processesOf(codex)).toHaveLength(1);
    await on.close();
    expect(processesOf(codex)).toEqual([]);
    expect(await log.ended()).toMatchObject({ ending: "interrupted", error: null });
    await expect(start(on)).rejects.toMatchObject({ refusal: { reason: "provider_closed" } });
  });

  it("A process that does not react is ended all the same", async () => {
    const { codex, adapter, start } = await world();
    const on = adapter();
    await start(on);
    const [pid = 0] = processesOf(codex);
    process.kill(pid, "SIGSTOP");
    await on.close();
    expect(processesOf(codex)).toEqual([]);
  });

  it("The process does not outlive ours when ours is killed", async () => {
    const { codex, endpoint } = await world(silence);
    const adapterUrl = pathToFileURL(join(import.meta.dirname, "../../services/providers/codex/adapter.ts")).href;
    const options = { instance: "codex", config: codex.config, stateDir: codex.stateDir };
    const open = { kind: "new", cwd: codex.workspace, model: null, modes: fullAccess, threadId: "thread:test" };
    const program = `
      const { createCodexAdapter } = await import(${JSON.stringify(adapterUrl)});
      const session = await createCodexAdapter(${JSON.stringify(options)}).open(${JSON.stringify(open)}, new AbortController().signal);
      await session.startTurn(${JSON.stringify(input("SILENT"))}, () => {}, new AbortController().signal);
    `;
    const host = spawn(process.execPath, ["--input-type=module", "-e", program], { stdio: "inherit" });
    await expect.poll(() => endpoint.about("SILENT"), { timeout: 20_000 }).toHaveLength(1);
    expect(processesOf(codex)).toHaveLength(1);
    host.kill("SIGKILL");
    await once(host, "exit");
    await expect.poll(() => processesOf(codex), { timeout: 10_000 }).toEqual([]);
  });
});
