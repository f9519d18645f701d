import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { TurnEvent } from "../../../../services/providers/contract.ts";
import { nextAttempt, openNew, rig, say, start } from "./rig.ts";

const one = (...steps: unknown[]) => ({ rules: [{ match: { contains: "go" }, steps }] });
const requestOf = (event: TurnEvent) => (event.type === "request_opened" ? event.requestId : "");

test("the acceptance is told before anything that follows it", async () => {
  const { adapter, dir } = rig(one({ delta: "at" }, { text: " once" }));
  const order: string[] = [];
  const session = await openNew(adapter(), dir);
  await new Promise<void>((ended) => {
    const input = { attemptId: nextAttempt(), runId: "run:test", context: [], message: "go" };
    const sink = (event: TurnEvent) => {
      order.push(event.type);
      if (event.type === "ended") ended();
    };
    void session.startTurn(input, sink, new AbortController().signal).then(() => order.push("accepted"));
  });
  expect(order).toEqual(["accepted", "progress", "item", "ended"]);
});

test("M04 a failure before acceptance records no input and leaves the conversation as it was", async () => {
  const { adapter, dir } = rig({
    rules: [{ match: { contains: "go" }, times: 1, steps: [{ acceptAfterMs: 1 }, { fail: { when: "before_accept", message: "busy" } }] }],
  });
  const made = adapter();
  const session = await openNew(made, dir);
  const attemptId = nextAttempt();
  await expect(start(session, "go", { attemptId })).rejects.toMatchObject({ refusal: { message: "busy" } });
  expect(existsSync(join(dir, "state", "inputs.jsonl"))).toBe(false);
  expect(await made.lookup({ cwd: dir, threadId: "t", nativeRef: session.nativeRef, attemptId })).toEqual({ outcome: "absent" });
  const next = await say(session, "go");
  expect(next.texts).toEqual(["ok: go"]);
  expect(next.turnRef?.id).toBe(`${session.nativeRef.id}.t1`);
});

test("waiting for the acceptance ends with its signal, and nothing was accepted", async () => {
  const { adapter, dir } = rig(one({ acceptAfterMs: 3_600_000 }));
  const made = adapter();
  const session = await openNew(made, dir);
  const giveUp = new AbortController();
  const attemptId = nextAttempt();
  const starting = start(session, "go", { attemptId, signal: giveUp.signal });
  giveUp.abort();
  await expect(starting).rejects.toMatchObject({ refusal: { reason: "start_aborted" } });
  expect(await made.lookup({ cwd: dir, threadId: "t", nativeRef: null, attemptId })).toEqual({ outcome: "absent" });
});

test("an interrupt ends a turn that hangs; what was streamed is kept as the piece that it is", async () => {
  const { adapter, dir } = rig(one({ delta: "half of" }, { hang: true }, { text: "never" }));
  const session = await openNew(adapter(), dir);
  const turn = await start(session, "go");
  await turn.seen("progress");
  await session.interrupt();
  expect(await turn.ended).toMatchObject({ ending: "interrupted", error: null });
  expect(turn.events.at(-2)).toMatchObject({ type: "item", truncated: true, body: { content: { text: "half of" } } });
  expect((await say(session, "next")).ended.ending).toBe("completed");
});

test("an interrupt ends a delay and does nothing without a turn", async () => {
  const { adapter, dir } = rig(one({ delay: 3_600_000 }));
  const session = await openNew(adapter(), dir);
  await session.interrupt();
  const turn = await start(session, "go");
  await session.interrupt();
  expect((await turn.ended).ending).toBe("interrupted");
});

test("I03 a turn that ignores interrupts goes on until the provider is closed", async () => {
  const { adapter, dir } = rig(one({ text: "started" }, { hang: true, ignoreInterrupt: true }));
  const made = adapter();
  const session = await openNew(made, dir);
  const turn = await start(session, "go");
  await turn.seen("item");
  await session.interrupt();
  await new Promise((next) => setTimeout(next, 20));
  expect(turn.events.map(({ type }) => type)).toEqual(["item"]);
  await made.close();
  expect((await turn.ended).ending).toBe("interrupted");
});

test("a provider that cannot interrupt takes an interrupt as nothing", async () => {
  const { adapter, dir } = rig({ capabilities: { interrupt: false }, ...one({ delay: 20 }, { text: "to the end" }) });
  const session = await openNew(adapter(), dir);
  const turn = await start(session, "go");
  await session.interrupt();
  expect((await turn.ended).ending).toBe("completed");
});

test.each([
  ["accept", ["done", "after"]],
  ["accept_for_session", ["done", "after"]],
  ["decline", ["not done", "after"]],
])("an approval answered with %s goes the way that the script has for it", async (answer, said) => {
  const { adapter, dir } = rig(
    one({ approval: { text: "rm -rf build" }, onAccept: [{ text: "done" }], onDecline: [{ text: "not done" }] }, { text: "after" }),
  );
  const session = await openNew(adapter(), dir);
  const turn = await start(session, "go");
  const request = await turn.seen("request_opened");
  expect(request).toMatchObject({
    question: "command",
    text: "rm -rf build",
    options: ["accept", "accept_for_session", "decline", "cancel"],
  });
  await expect(session.answer(requestOf(request), "maybe")).rejects.toMatchObject({ refusal: { reason: "unknown_answer" } });
  await session.answer(requestOf(request), answer);
  await turn.ended;
  expect(turn.events.map((event) => event.type)).toEqual(["request_opened", "request_closed", "item", "item", "ended"]);
  expect(turn.events.flatMap((event) => (event.type === "item" && "content" in event.body ? [event.body.content] : []))).toEqual(
    said.map((text) => ({ text })),
  );
  await expect(session.answer(requestOf(request), answer)).rejects.toMatchObject({ refusal: { reason: "unknown_request" } });
});

test("an approval answered with cancel ends the turn as interrupted", async () => {
  const { adapter, dir } = rig(one({ approval: { text: "?" } }, { text: "never" }));
  const session = await openNew(adapter(), dir);
  const turn = await start(session, "go");
  await session.answer(requestOf(await turn.seen("request_opened")), "cancel");
  expect((await turn.ended).ending).toBe("interrupted");
});

test("an interrupt closes an open request", async () => {
  const { adapter, dir } = rig(one({ approval: { text: "?" } }));
  const session = await openNew(adapter(), dir);
  const turn = await start(session, "go");
  await turn.seen("request_opened");
  await session.interrupt();
  await turn.ended;
  expect(turn.events.map(({ type }) => type)).toEqual(["request_opened", "request_closed", "ended"]);
});

test("a question takes any answer, which later steps may use", async () => {
  const { adapter, dir } = rig(one({ ask: { text: "Which colour?" } }, { text: "it is $answer" }));
  const session = await openNew(adapter(), dir);
  const turn = await start(session, "go");
  const request = await turn.seen("request_opened");
  expect(request).toMatchObject({ question: "question", text: "Which colour?", options: [] });
  await session.answer(requestOf(request), "green");
  await turn.ended;
  expect(turn.events).toContainEqual(expect.objectContaining({ body: { kind: "assistant_message", content: { text: "it is green" } } }));
});

test("R02 a process that dies in a turn ends it as failed, and the session is of no more use", async () => {
  const { adapter, dir } = rig(one({ text: "before" }, { crash: true }));
  const session = await openNew(adapter(), dir);
  const turn = await say(session, "go");
  expect(turn.ended).toMatchObject({ ending: "failed", error: { code: "provider_unavailable", reason: "provider_process_died" } });
  await expect(start(session, "again")).rejects.toMatchObject({ refusal: { reason: "provider_process_died" } });
});

test("a conversation has one turn at a time", async () => {
  const { adapter, dir } = rig(one({ hang: true }));
  const session = await openNew(adapter(), dir);
  const turn = await start(session, "go");
  await expect(start(session, "more")).rejects.toMatchObject({ refusal: { reason: "turn_running" } });
  await session.detach();
  expect(turn.events.at(-1)?.type).toBe("ended");
  expect((await turn.ended).ending).toBe("interrupted");
});
