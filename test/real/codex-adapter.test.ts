import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ProviderSession } from "../../services/providers/contract.ts";
import { asking, codexWorld, never, processesOf, runningIn, silence, transcript } from "../support/codex-world.ts";
import { say, shell, when } from "../support/model-endpoint.ts";
import { input, runTurn, TurnLog } from "../support/turn-log.ts";

describe("turns", () => {
  it("A first turn gives the input, tells progress and the items, and ends once", async () => {
    const { endpoint, adapter, start } = await codexWorld(when("SAY", say("one two", "one", " two")));
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
    const { endpoint, adapter, start, resume } = await codexWorld();
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
    const { endpoint, adapter, start } = await codexWorld();
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
    const { codex, endpoint, adapter, start } = await codexWorld(
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
    const { endpoint, adapter, start } = await codexWorld();
    const session = await start(adapter());
    for (const message of ["one", "two"]) await runTurn(session, input(message, { context: ["the same"] }));
    expect(endpoint.requests.at(-1)!.transcript.filter((line) => line.includes(">the same<"))).toHaveLength(2);
  });

  it("Two conversations run at once in one process, and neither hears of the other", async () => {
    const both = Promise.withResolvers<void>();
    const { endpoint, codex, adapter, start } = await codexWorld(
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
    const { endpoint, adapter, start } = await codexWorld(silence);
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
    const { codex, adapter, start } = await codexWorld();
    rmSync(codex.workspace, { recursive: true });
    await expect(start(adapter())).rejects.toMatchObject({ refusal: { code: "invalid_request", reason: "workspace_missing" } });
    expect(processesOf(codex)).toEqual([]);
  });
});

describe("forks", () => {
  it("F01 F06 A fork at the first of three turns knows that turn and nothing of the later ones", async () => {
    const { endpoint, adapter, start, fork } = await codexWorld();
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
    const { endpoint, adapter, start, fork } = await codexWorld(silence);
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
    const { endpoint, adapter, start, fork } = await codexWorld();
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
    const { adapter, start, fork } = await codexWorld();
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
    const { adapter, resume } = await codexWorld();
    const gone = { nativeRef: { id: "01970000-0000-7000-8000-000000000000", strength: "strong" as const } };
    await expect(resume(adapter(), gone)).rejects.toMatchObject({ openFailed: true, refusal: { reason: "native_thread_not_found" } });
  });
});

describe("interrupts", () => {
  it("An interrupt ends a turn of a model that answers nothing at all, even when it comes at once", async () => {
    const { adapter, start } = await codexWorld(silence);
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
    const { adapter, start } = await codexWorld(when("HALF", { kind: "silence", afterDelta: "half a mess" }));
    const session = await start(adapter());
    const log = new TurnLog();
    await session.startTurn(input("HALF"), log.sink, never);
    await log.until(({ type }) => type === "progress");
    await session.interrupt();
    await log.ended();
    expect(log.items).toMatchObject([{ truncated: true, body: { content: { text: "half a mess" } } }]);
  });

  it("A command that runs when its turn is interrupted is ended, and what it printed is kept", async () => {
    const { codex, adapter, start } = await codexWorld(when("RUN", shell("for i in $(seq 200); do echo begun; sleep 0.1; done")));
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
    const { endpoint, adapter, start } = await codexWorld(silence);
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
    const { adapter, start, request } = await codexWorld();
    const on = adapter();
    const aborter = new AbortController();
    const opening = on.open({ ...request(), kind: "new" }, aborter.signal);
    aborter.abort();
    await expect(opening).rejects.toMatchObject({ refusal: { reason: "open_aborted" }, openFailed: false });
    expect((await runTurn(await start(on), "works")).ended.ending).toBe("completed");
  });
});
