import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { AttemptId } from "../../schemas/ids.ts";
import type { NativeRef } from "../../schemas/provider.ts";
import type { ProviderAdapter } from "../../services/providers/contract.ts";
import { agentsOf, asking, bash, claudeWorld, never, processesOf, silence, transcript } from "../support/claude-world.ts";
import { answers, calls, type MessagesReply, whenAsked } from "../support/messages-endpoint.ts";
import { smallMcpServer } from "../support/small-mcp.ts";
import { input, runTurn, TurnLog } from "../support/turn-log.ts";

describe("turns", () => {
  it("A first turn gives the input, tells progress and the items, and ends once, at the entry that a fork would begin after", async () => {
    const said = { kind: "text" as const, text: "one two", chunks: ["one", " two"], thinking: "let me see" } satisfies MessagesReply;
    const { adapter, start } = await claudeWorld(whenAsked("SAY", said));
    const on = adapter();
    expect(on.capabilities.contextWindow).toBeNull();
    const session = await start(on);
    const { log, ended, turnRef } = await runTurn(session, "SAY it");

    expect(session.nativeRef).toMatchObject({ strength: "strong" });
    expect(turnRef).toBeNull();
    expect(log.events.flatMap((event) => (event.type === "progress" ? [event.text] : []))).toEqual(["one", "one two"]);
    expect(log.items.map(({ body }) => body)).toEqual([
      { kind: "reasoning", content: { text: "let me see" } },
      { kind: "assistant_message", content: { text: "one two" } },
    ]);
    expect(ended).toEqual({
      type: "ended",
      ending: "completed",
      error: null,
      turnRef: { id: log.items.at(-1)!.nativeId, strength: "strong" },
    });
    expect(log.events.filter(({ type }) => type === "ended")).toHaveLength(1);
    expect(on.capabilities.contextWindow).toBeGreaterThan(1000);
  });

  it("A conversation goes on in a new process with everything that was said", async () => {
    const { endpoint, adapter, start, resume } = await claudeWorld();
    const first = adapter();
    const session = await start(first);
    await runTurn(session, "the codeword is heron");
    await first.close();
    const resumed = await resume(adapter(), session);
    await runTurn(resumed, "what was it");

    expect(resumed.nativeRef).toEqual(session.nativeRef);
    expect(transcript(endpoint)).toEqual(["user: the codeword is heron", "assistant: ok", "user: what was it"]);
  });

  it("Handoffs of any size reach the model whole, in order, before the message, and nothing in them is taken for a file or a command", async () => {
    const { endpoint, adapter, start } = await claudeWorld();
    const session = await start(adapter());
    const long = Array.from({ length: 3_000 }, (_, line) => `${line}: ${"naïve 漢字 😀 ".repeat(line % 5)}`).join("\n");
    const context = ["/compact first handoff @/etc/hostname", long, "last handoff"];
    await runTurn(session, input("now this", { context }));
    expect(transcript(endpoint)).toEqual([...context, "now this"].map((text) => `user: ${text}`));
  });

  it("Commands and file changes become items of their kind, with what came of them", async () => {
    const { claude, adapter, start } = await claudeWorld(
      whenAsked("RUN", bash("echo printed"), bash("echo out; exit 3"), answers("ran")),
      whenAsked(
        "FILE",
        calls("Write", { file_path: "a.txt", content: "hello\nworld\n" }),
        calls("Edit", { file_path: "a.txt", old_string: "hello", new_string: "goodbye" }),
        calls("Edit", { file_path: "a.txt", old_string: "nowhere", new_string: "x" }),
        answers("done"),
      ),
    );
    const session = await start(adapter());
    const ran = await runTurn(session, "RUN it");
    const command = { kind: "command", cwd: claude.workspace };
    expect(ran.log.items.map(({ body }) => body)).toMatchObject([
      { ...command, command: "echo printed", exitCode: 0, output: { text: "printed" } },
      { ...command, exitCode: 3, output: { text: "out" } },
      { kind: "assistant_message" },
    ]);
    const changed = await runTurn(session, "FILE it");
    const path = join(claude.workspace, "a.txt");
    expect(changed.log.items.map(({ body }) => body)).toMatchObject([
      { kind: "file_change", changes: [{ path, change: "add" }], diff: { text: expect.stringContaining("+hello\n+world") } },
      { kind: "file_change", changes: [{ path, change: "update" }], diff: { text: expect.stringContaining("-hello\n+goodbye") } },
      { kind: "tool_call", tool: "Edit", ok: false },
      { kind: "assistant_message" },
    ]);
  });

  it("Our own tools are handed in, without a question and with the token off the command line; a call is an item", async () => {
    const tools = await smallMcpServer();
    onTestFinished(() => tools.close());
    const { claude, adapter, request } = await claudeWorld(
      whenAsked("ECHO", calls("mcp__ropewalk__echo", { text: "hi" }), answers("done")),
    );
    const appTools = { url: tools.url, token: "token-of-this-thread" };
    const session = await adapter().open({ ...request(asking), appTools, kind: "new" }, never);
    const [pid] = agentsOf(claude);
    expect(readFileSync(`/proc/${pid}/cmdline`, "utf8")).not.toContain(appTools.token);
    const { log, ended } = await runTurn(session, "ECHO it");
    expect(ended.ending).toBe("completed");
    expect(log.items[0]?.body).toMatchObject({ kind: "tool_call", tool: "ropewalk/echo", ok: true, result: { text: "echo: hi" } });
    expect(log.events.filter((event) => "requestId" in event)).toEqual([]);
    expect(tools.echoed).toEqual([{ text: "hi" }]);
    expect(new Set(tools.tokens)).toEqual(new Set([`Bearer ${appTools.token}`]));
  });

  it("Two conversations run at once, each in a process of its own, and neither hears of the other", async () => {
    const both = Promise.withResolvers<void>();
    const { endpoint, claude, adapter, start } = await claudeWorld(
      whenAsked("LEFT", { kind: "later", until: both.promise, reply: answers("left") }),
      whenAsked("RIGHT", { kind: "later", until: both.promise, reply: answers("right") }),
    );
    const on = adapter();
    const sessions = await Promise.all([start(on), start(on)]);
    const turns = Promise.all([runTurn(sessions[0], "LEFT"), runTurn(sessions[1], "RIGHT")]);
    await expect.poll(() => endpoint.about("LEFT").length + endpoint.about("RIGHT").length).toBe(2);
    expect(agentsOf(claude)).toHaveLength(2);
    both.resolve();
    const [left, right] = await turns;
    expect([left.log.said, right.log.said]).toEqual([["left"], ["right"]]);
  });

  it("A second turn during a turn is refused and does not reach the model", async () => {
    const { endpoint, adapter, start } = await claudeWorld(silence);
    const session = await start(adapter());
    const log = new TurnLog();
    await session.startTurn(input("SILENT"), log.sink, never);
    await expect(session.startTurn(input("second"), log.sink, never)).rejects.toMatchObject({ refusal: { reason: "turn_running" } });
    await session.interrupt();
    await log.ended();
    expect((await runTurn(session, "third")).ended.ending).toBe("completed");
    expect(endpoint.about("second")).toEqual([]);
  });

  it("R02 A working folder that is gone is told before anything starts", async () => {
    const { claude, adapter, start } = await claudeWorld();
    rmSync(claude.workspace, { recursive: true });
    await expect(start(adapter())).rejects.toMatchObject({ refusal: { code: "invalid_request", reason: "workspace_missing" } });
    expect(processesOf(claude)).toEqual([]);
  });

  it("H01 A conversation that rests lets its process go, and its next turn goes on with it", async () => {
    const { endpoint, claude, adapter, start } = await claudeWorld();
    claude.config.idleMs = 100;
    const session = await start(adapter());
    await runTurn(session, "the codeword is heron");
    await expect.poll(() => processesOf(claude)).toEqual([]);
    await runTurn(session, "what was it");
    expect(transcript(endpoint)).toEqual(["user: the codeword is heron", "assistant: ok", "user: what was it"]);
  });
});

describe("forks", () => {
  it("F01 F06 A fork at the first of three turns knows that turn and nothing of the later ones", async () => {
    const { endpoint, adapter, start, fork } = await claudeWorld();
    const on = adapter();
    const source = await start(on);
    const first = await runTurn(source, "first: heron");
    await runTurn(source, "second: stork");
    await runTurn(source, "third: crane");
    const forked = await fork(on, source, first.ended.turnRef!);
    await runTurn(forked, "in the fork");

    expect(forked.nativeRef.id).not.toBe(source.nativeRef.id);
    expect(transcript(endpoint)).toEqual(["user: first: heron", "assistant: ok", "user: in the fork"]);
    await runTurn(source, "fourth");
    expect(transcript(endpoint)).toEqual([
      "user: first: heron",
      "assistant: ok",
      "user: second: stork",
      "assistant: ok",
      "user: third: crane",
      "assistant: ok",
      "user: fourth",
    ]);
  });

  it("F04 A fork of a fork at a turn of the first source knows that turn alone, and is a conversation of its own", async () => {
    const { endpoint, adapter, start, fork, resume } = await claudeWorld();
    const on = adapter();
    const source = await start(on);
    const first = await runTurn(source, "first");
    await runTurn(source, "second");
    const child = await fork(on, source, first.ended.turnRef!);
    await runTurn(child, "in the child");
    const grandchild = await fork(on, source, first.ended.turnRef!);
    await runTurn(grandchild, "in the grandchild");
    expect(transcript(endpoint)).toEqual(["user: first", "assistant: ok", "user: in the grandchild"]);
    await grandchild.detach();
    await runTurn(await resume(adapter(), grandchild), "again");
    expect(transcript(endpoint)).toEqual(["user: first", "assistant: ok", "user: in the grandchild", "assistant: ok", "user: again"]);
  });

  it("F16 A source is forked at an earlier turn while a later one runs, in a new process too, and the half turn is not in it", async () => {
    const { endpoint, adapter, start, fork } = await claudeWorld(silence);
    const on = adapter();
    const source = await start(on);
    const first = await runTurn(source, "first");
    const log = new TurnLog();
    await source.startTurn(input("SILENT second"), log.sink, never);
    await expect.poll(() => endpoint.about("SILENT")).toHaveLength(1);
    for (const [where, words] of [
      [on, "here"],
      [adapter(), "there"],
    ] as const) {
      await runTurn(await fork(where, source, first.ended.turnRef!), words);
      expect(transcript(endpoint)).toEqual(["user: first", "assistant: ok", `user: ${words}`]);
    }
    await source.interrupt();
    await log.ended();
  });

  it("A turn with tools is forked with all of it", async () => {
    const { endpoint, adapter, start, fork } = await claudeWorld(whenAsked("RUN", bash("echo printed"), answers("ran")));
    const on = adapter();
    const source = await start(on);
    const first = await runTurn(source, "RUN it");
    await runTurn(await fork(on, source, first.ended.turnRef!), "in the fork");
    expect(transcript(endpoint)).toEqual(["user: RUN it", "tool: printed", "assistant: ran", "user: in the fork"]);
  });

  it("F16 After a compaction the conversation goes on from the summary; a fork or a rewind to a turn before it is refused, never made of more", async () => {
    const summing = whenAsked("summary of the conversation", answers("<summary>SUMMED UP</summary>"));
    const { endpoint, claude, adapter, start, fork, request } = await claudeWorld(summing);
    const on = adapter();
    const source = await start(on);
    const first = input("first: heron");
    const { ended } = await runTurn(source, first);
    const second = input("second: stork");
    await runTurn(source, second);
    expect((await runTurn(source, "/compact")).ended).toMatchObject({ ending: "completed", error: null });
    const after = await runTurn(source, "after it");
    expect(transcript(endpoint).join("\n")).toContain("SUMMED UP");
    await expect(fork(on, source, ended.turnRef!)).rejects.toMatchObject({
      openFailed: true,
      refusal: { reason: "native_fork_refused" },
    });
    const told = endpoint.requests.length;
    const late = await fork(on, source, after.ended.turnRef!);
    await runTurn(late, "in the fork");
    expect(transcript(endpoint).slice(-3)).toEqual(["user: after it", "assistant: ok", "user: in the fork"]);
    expect(endpoint.requests.length).toBe(told + 1);
    const keep = { attemptId: first.attemptId as AttemptId, turnRef: ended.turnRef };
    const drop = [{ attemptId: second.attemptId as AttemptId, turnRef: null }];
    const rewinding = on.open({ ...request(), kind: "resume", nativeRef: source.nativeRef, rewind: { keep, drop } }, never);
    await expect(rewinding).rejects.toMatchObject({ rewindRefused: true });
    await late.detach();
    expect(agentsOf(claude)).toEqual([]);
  });

  it("F05 A fork at a turn that Claude does not have, or of a session that it does not have, is impossible and not merely unavailable", async () => {
    const { claude, adapter, start, fork } = await claudeWorld();
    const on = adapter();
    const source = await start(on);
    const { ended } = await runTurn(source, "first");
    const unknown = { id: "99999999-9999-4999-8999-999999999999", strength: "strong" } as const;
    const impossible = { openFailed: true, refusal: { code: "provider_unavailable", reason: "native_fork_refused" } };
    const before = processesOf(claude);
    await expect(fork(on, source, unknown)).rejects.toMatchObject(impossible);
    await expect(fork(on, { nativeRef: unknown }, ended.turnRef!)).rejects.toMatchObject(impossible);
    expect(processesOf(claude)).toEqual(before);
    expect((await runTurn(source, "goes on")).ended.ending).toBe("completed");
  });

  it("A conversation that Claude does not have cannot be resumed, and nothing is left running", async () => {
    const { claude, adapter, resume } = await claudeWorld();
    const gone = { nativeRef: { id: "99999999-9999-4999-8999-999999999999", strength: "strong" as const } };
    await expect(resume(adapter(), gone)).rejects.toMatchObject({ openFailed: true, refusal: { reason: "native_thread_not_found" } });
    await expect.poll(() => processesOf(claude)).toEqual([]);
  });
});

describe("rewinds", () => {
  const named = (given: { attemptId: string }, turnRef: NativeRef | null) => ({ attemptId: given.attemptId as AttemptId, turnRef });

  it("A conversation is taken back in place to a turn, in a new process too, and taking back what is gone already changes nothing", async () => {
    const { endpoint, adapter, start, request } = await claudeWorld();
    const on = adapter();
    const session = await start(on);
    const inputs = ["one", "two", "three"].map((message) => input(message));
    const turns: Awaited<ReturnType<typeof runTurn>>[] = [];
    for (const given of inputs) turns.push(await runTurn(session, given));
    const rewind = {
      keep: named(inputs[0]!, turns[0]!.ended.turnRef),
      drop: [1, 2].map((n) => named(inputs[n]!, turns[n]!.ended.turnRef)),
    };
    const back = (where: ProviderAdapter) => where.open({ ...request(), kind: "resume", nativeRef: session.nativeRef, rewind }, never);
    await (await back(on)).detach();
    const rewound = await back(on);
    expect(rewound.nativeRef).toEqual(session.nativeRef);
    const next = input("instead");
    await runTurn(rewound, next);
    expect(transcript(endpoint)).toEqual(["user: one", "assistant: ok", "user: instead"]);
    await on.close();
    // What was given since is not named: it does not go.
    await expect(back(adapter(true))).rejects.toMatchObject({ rewindRefused: true, refusal: { reason: "native_rewind_refused" } });
  });

  it("An input of somebody else's is never taken back, nor anything to a turn that is not there", async () => {
    const { adapter, start, request } = await claudeWorld();
    const on = adapter();
    const session = await start(on);
    const [first, foreign] = [input("one"), input("in a terminal")];
    const { ended } = await runTurn(session, first);
    await runTurn(session, foreign);
    const open = (keep: ReturnType<typeof named>) =>
      on.open({ ...request(), kind: "resume", nativeRef: session.nativeRef, rewind: { keep, drop: [] } }, never);
    const refused = { rewindRefused: true, openFailed: true };
    await expect(open(named(first, ended.turnRef))).rejects.toMatchObject(refused);
    await expect(open(named(input("never"), null))).rejects.toMatchObject(refused);
  });
});

describe("interrupts", () => {
  it("An interrupt ends a turn of a model that answers nothing at all, even when it comes at once", async () => {
    const { adapter, start } = await claudeWorld(silence);
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
    const { adapter, start } = await claudeWorld(whenAsked("HALF", { kind: "silence", afterDelta: "half a mess" }));
    const session = await start(adapter());
    const log = new TurnLog();
    await session.startTurn(input("HALF"), log.sink, never);
    await log.until(({ type }) => type === "progress");
    await session.interrupt();
    await log.ended();
    expect(log.items).toMatchObject([{ truncated: true, body: { content: { text: "half a mess" } } }]);
  });

  it("A command that runs when its turn is interrupted is ended", async () => {
    const { claude, adapter, start } = await claudeWorld(whenAsked("RUN", bash("touch begun; while true; do sleep 0.1; done")));
    const session = await start(adapter());
    const log = new TurnLog();
    await session.startTurn(input("RUN"), log.sink, never);
    await expect.poll(() => existsSync(join(claude.workspace, "begun"))).toBe(true);
    expect(processesOf(claude).length).toBeGreaterThan(1);
    await session.interrupt();
    expect((await log.ended()).ending).toBe("interrupted");
    expect(log.items).toMatchObject([{ body: { kind: "command", exitCode: null } }]);
    await expect.poll(() => processesOf(claude)).toHaveLength(1);
  });

  it("S08 R03 A start that is given up does not leave a turn running, and the conversation can be gone on with", async () => {
    const { endpoint, claude, adapter, start, resume } = await claudeWorld(silence);
    const on = adapter();
    const session = await start(on);
    await runTurn(session, "before");
    const log = new TurnLog();
    const aborter = new AbortController();
    const given = input("SILENT");
    const starting = session.startTurn(given, log.sink, aborter.signal);
    aborter.abort();
    await expect(starting).rejects.toMatchObject({ refusal: { reason: "start_aborted" } });
    expect(agentsOf(claude)).toEqual([]);
    expect(log.events).toEqual([]);
    const query = { cwd: claude.workspace, threadId: "thread:test", nativeRef: session.nativeRef, attemptId: given.attemptId };
    const { outcome } = await on.lookup(query);
    expect(outcome === "accepted").toBe(endpoint.about("SILENT").length > 0);
    expect((await runTurn(await resume(on, session), "after")).ended.ending).toBe("completed");
  });

  it("S08 R03 An opening that is given up rejects at once and leaves nothing running", async () => {
    const { claude, adapter, start, request } = await claudeWorld();
    const on = adapter();
    const aborter = new AbortController();
    const opening = on.open({ ...request(), kind: "new" }, aborter.signal);
    aborter.abort();
    await expect(opening).rejects.toMatchObject({ refusal: { reason: "open_aborted" }, openFailed: false });
    await expect.poll(() => processesOf(claude)).toEqual([]);
    expect((await runTurn(await start(on), "works")).ended.ending).toBe("completed");
  });
});
