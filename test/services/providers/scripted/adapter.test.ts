import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ProviderFailure } from "../../../../services/providers/contract.ts";
import { openNew, rig, say, start } from "./rig.ts";

test("without a rule that matches it answers with the start of the message, never half a character", async () => {
  const { adapter, dir } = rig();
  const session = await openNew(adapter(), dir);
  expect((await say(session, "hello $1 $& $answer")).texts).toEqual(["ok: hello $1 $& $answer"]);
  expect((await say(session, "😀".repeat(100))).texts).toEqual([`ok: ${"😀".repeat(80)}`]);
});

test("the first rule that matches is played, and its text may use the groups of its regular expression", async () => {
  const { adapter, dir } = rig({
    rules: [
      { match: { turn: 2 }, steps: [{ text: "second" }] },
      { match: { told: "handed over", contains: "go" }, steps: [{ text: "told" }] },
      { match: { regex: "add (\\d+) and (\\d+)" }, steps: [{ tool: { name: "add", arguments: { a: "$1", b: "$2" }, result: "$&" } }] },
      { match: {}, steps: [{ text: "$1 costs $$5" }] },
    ],
  });
  const session = await openNew(adapter(), dir);
  expect((await say(session, "anything")).texts).toEqual(["$1 costs $5"]);
  expect((await say(session, "anything")).texts).toEqual(["second"]);
  expect((await say(session, "go", ["what was handed over"])).texts).toEqual(["told"]);
  const turn = await say(session, "please add 2 and 40");
  expect(turn.events[0]).toMatchObject({
    type: "item",
    body: { kind: "tool_call", tool: "add", arguments: { text: '{"a":"2","b":"40"}' }, result: { text: "add 2 and 40" }, ok: true },
  });
});

test("a rule with a number of times is passed over once they are used up", async () => {
  const { adapter, dir } = rig({ rules: [{ match: {}, times: 1, steps: [{ fail: { message: "not now" } }] }] });
  const session = await openNew(adapter(), dir);
  expect((await say(session, "one")).ended).toMatchObject({
    ending: "failed",
    error: { message: "not now", code: "provider_unavailable" },
  });
  expect((await say(session, "two")).ended).toMatchObject({ ending: "completed", error: null });
});

test("every kind of item arrives complete, in order, with its own native id, before the one end", async () => {
  const { adapter, dir } = rig({
    rules: [
      {
        match: {},
        steps: [
          { reasoning: "hm" },
          { plan: "first this" },
          { command: { command: "ls", output: "a\nb", exitCode: 1 } },
          { fileChange: { path: "notes/a.txt", change: "add", content: "one\n" } },
          { delta: "Hel" },
          { delta: "lo" },
          { text: "!" },
        ],
      },
    ],
  });
  const session = await openNew(adapter(), dir);
  const { events, turnRef } = await say(session, "go");
  expect(events.map((event) => (event.type === "item" ? event.body.kind : event.type))).toEqual([
    "reasoning",
    "plan",
    "command",
    "file_change",
    "progress",
    "progress",
    "assistant_message",
    "ended",
  ]);
  expect(events).toContainEqual({ type: "progress", text: "Hello" });
  expect(events.at(-2)).toMatchObject({ body: { content: { text: "Hello!" } } });
  expect(events.at(-1)).toEqual({ type: "ended", ending: "completed", error: null, turnRef });
  const nativeIds = events.flatMap((event) => (event.type === "item" ? [event.nativeId] : []));
  expect(new Set(nativeIds).size).toBe(5);
  expect(readFileSync(join(dir, "notes/a.txt"), "utf8")).toBe("one\n");
});

test("a file outside the thread's folder is never written", async () => {
  const { adapter, dir } = rig({ rules: [{ match: {}, steps: [{ fileChange: { path: "../escaped.txt", content: "no" } }] }] });
  const session = await openNew(adapter(), dir);
  expect((await say(session, "go")).ended).toMatchObject({ ending: "failed", error: { reason: "outside_folder" } });
  expect(existsSync(join(dir, "..", "escaped.txt"))).toBe(false);
});

test("every accepted input is one line that shows exactly what was given", async () => {
  const { adapter, dir, inputs } = rig();
  const session = await openNew(adapter(), dir);
  await start(session, "hello", { context: ["told one", "told two"], attemptId: "attempt:a" }).then((turn) => turn.ended);
  await say(session, "again");
  const [first, second] = inputs();
  expect(first).toMatchObject({
    threadId: "thread:test",
    runId: "run:test",
    attemptId: "attempt:a",
    native: session.nativeRef.id,
    opened: "new",
    turn: 1,
    context: ["told one", "told two"],
    message: "hello",
    full: "told one\n\ntold two\n\nhello",
    cwd: dir,
  });
  expect(first?.at).toBeGreaterThan(0);
  expect(second).toMatchObject({ opened: "resume", turn: 2, full: "again" });
});

test("a native channel for context keeps it out of the message, and it is known all the same", async () => {
  const { adapter, dir, inputs } = rig({
    capabilities: { contextInjection: "native" },
    rules: [{ match: {}, steps: [{ recall: "CODE-\\d+" }] }],
  });
  const session = await openNew(adapter(), dir);
  expect((await say(session, "which?", ["it is CODE-7"])).texts).toEqual(["CODE-7"]);
  expect(inputs()[0]).toMatchObject({ context: ["it is CODE-7"], full: "which?" });
});

test("capabilities are the defaults with what the script says over them", async () => {
  expect(rig().adapter().capabilities).toMatchObject({
    nativeFork: "turn",
    contextInjection: "text",
    writerLock: false,
    interrupt: true,
    approvals: true,
    identity: { thread: "strong", turn: "strong", item: "strong" },
    contextWindow: null,
  });
  const { adapter, dir } = rig({ capabilities: { nativeFork: "none", identity: { thread: "weak", turn: "none" }, contextWindow: 1000 } });
  const made = adapter();
  expect(made.capabilities).toMatchObject({
    nativeFork: "none",
    interrupt: true,
    identity: { thread: "weak", turn: "none", item: "strong" },
    contextWindow: 1000,
  });
  const session = await openNew(made, dir);
  expect(session.nativeRef.strength).toBe("weak");
  expect((await say(session, "hi")).turnRef).toBeNull();
});

test("a missing script fails every open with its file's name, until it is there", async () => {
  const { adapter, dir, script } = rig();
  rmSync(join(dir, "script.json"));
  const made = adapter();
  const missing = await openNew(made, dir).catch((cause: unknown) => cause);
  expect(missing).toBeInstanceOf(ProviderFailure);
  expect((missing as ProviderFailure).refusal).toMatchObject({
    code: "provider_unavailable",
    reason: "script_missing",
    details: { file: join(dir, "script.json") },
  });
  script("not json");
  await expect(openNew(made, dir)).rejects.toMatchObject({ refusal: { reason: "script_invalid" } });
  script({});
  expect((await say(await openNew(made, dir), "hi")).texts).toEqual(["ok: hi"]);
});

test.each([
  [{ rules: [{ match: {}, steps: [{ tool: { name: 3 } }] }] }, "rules.0.steps.0.tool.name"],
  [{ rules: [{ match: { regex: "(" }, steps: [] }] }, "rules.0.match.regex"],
  [{ rules: [{ match: {}, steps: [{ text: "a", hang: true }] }] }, "rules.0.steps.0"],
  [{ rules: [{ match: {}, steps: [{ approval: { text: "?" }, onAccept: [{ txt: "a" }] }] }] }, "rules.0.steps.0.onAccept.0"],
  [{ rules: [{ match: {}, steps: [{ text: "a" }, { fail: { when: "before_accept", message: "late" } }] }] }, "rules.0.steps.1"],
  [{ capabilities: { nativeFork: "sometimes" } }, "capabilities.nativeFork"],
])("an invalid script is refused with the file and the path of the problem: %j", async (script, path) => {
  const { adapter, dir } = rig(script);
  const cause = (await openNew(adapter(), dir).catch((refused: unknown) => refused)) as ProviderFailure;
  expect(cause.refusal.message).toContain(join(dir, "script.json"));
  expect(cause.refusal.details).toMatchObject({ problems: expect.arrayContaining([expect.objectContaining({ path })]) });
});

test("S08 R03 an open that hangs is ended by its signal and leaves nothing behind", async () => {
  const { adapter, dir } = rig({ openHang: 1 });
  const made = adapter();
  const giveUp = new AbortController();
  const opening = openNew(made, dir, giveUp.signal);
  giveUp.abort();
  await expect(opening).rejects.toMatchObject({ name: "ProviderFailure", refusal: { reason: "open_aborted" } });
  expect(existsSync(join(dir, "state", "conversations"))).toBe(false);
  await expect(openNew(made, dir)).resolves.toBeDefined();
});

test("H03 an open can fail as often as the script says", async () => {
  const { adapter, dir } = rig({ openFail: { times: 2, message: "no such model", code: "model_unavailable" } });
  const made = adapter();
  for (let i = 0; i < 2; i += 1) {
    await expect(openNew(made, dir)).rejects.toMatchObject({
      refusal: { code: "model_unavailable", message: "no such model" },
      openFailed: false,
    });
  }
  await expect(openNew(made, dir)).resolves.toBeDefined();
});

test("H02 letting go of the conversation can fail, and works the next time", async () => {
  const { adapter, dir } = rig({ capabilities: { writerLock: true }, detachFail: 1 });
  const session = await openNew(adapter(), dir);
  await expect(session.detach()).rejects.toMatchObject({ refusal: { reason: "detach_failed" } });
  expect((await say(session, "still here")).ended.ending).toBe("completed");
  await session.detach();
  await expect(start(session, "gone")).rejects.toMatchObject({ refusal: { reason: "session_detached" } });
});
