import { describe, expect, onTestFinished, test } from "vitest";
import type { Receipt } from "../../../schemas/command.ts";
import { limits } from "../../../schemas/limits.ts";
import { Door, type DoorOptions } from "../../../services/runtime/door.ts";
import { openMemoryStore } from "../../../services/store/sqlite-store.ts";
import { ids } from "../../support/commit-batches.ts";
import { dispatcherRig } from "../../support/dispatcher-rig.ts";

function rig(options: Partial<Pick<DoorOptions, "facts" | "maxBytes">> = {}) {
  const store = openMemoryStore();
  onTestFinished(() => store.close());
  const base = dispatcherRig(store);
  const facts = { folder: async () => null };
  return { ...base, door: new Door({ store, dispatcher: base.dispatcher, ids, facts, ...options }) };
}

function refusalIn(receipt: Receipt): { code: string; reason: string; message: string } {
  if (receipt.ok) throw new Error("it was not refused");
  const { code, reason, message, hint } = receipt.refusal;
  expect(reason).toMatch(/^[a-z0-9_]+$/);
  expect(message).not.toBe("");
  expect(hint).not.toBe("");
  expect(receipt.commandId).toMatch(/^cmd:/);
  return { code, reason, message };
}

const thread = ids.next("thread");
const lone = "half a \ud83d pair";
const importOf = (more: object) => ({
  type: "thread.import",
  import: { handoffId: "h", sourceEnvironmentId: "e", sourceThreadId: "t", messages: [{ role: "user", text: "hi" }], ...more },
});

/** What is wrong, the command, the reason, and what the message must name. */
const malformed: [string, unknown, string, string][] = [
  ["nothing", undefined, "malformed", "command"],
  ["null", null, "malformed", "command"],
  ["a number", 7, "malformed", "command"],
  ["a text", "thread.create", "malformed", "command"],
  ["a list", [], "malformed", "command"],
  ["an empty object", {}, "malformed", "type"],
  ["an unknown type", { type: "thread.explode" }, "malformed", "type"],
  ["an inner type", { type: "run.ended", runId: ids.next("run") }, "malformed", "type"],
  ["a type that every object has", { type: "constructor" }, "malformed", "type"],
  ["an unknown member", { type: "thread.create", titel: "x" }, "malformed", "titel"],
  [
    "a member that every object has",
    JSON.parse('{"type": "thread.create", "__proto__": {}, "constructor": 1}'),
    "malformed",
    "constructor",
  ],
  ["a missing member", { type: "thread.rename", threadId: thread }, "malformed", "title"],
  ["a wrong type", { type: "thread.mark", threadId: thread, mark: "pinned", on: "yes" }, "malformed", "on"],
  ["an unknown mark", { type: "thread.mark", threadId: thread, mark: "starred", on: true }, "malformed", "mark"],
  ["a malformed id", { type: "thread.rename", threadId: "thread:1", title: "x" }, "malformed", "threadId"],
  ["an id of another noun", { type: "thread.rename", threadId: ids.next("run"), title: "x" }, "malformed", "threadId"],
  ["an id with a line after it", { type: "thread.rename", threadId: `${thread}\n`, title: "x" }, "malformed", "threadId"],
  ["an unknown mode", { type: "thread.create", runtimeMode: "root" }, "malformed", "runtimeMode"],
  ["an empty message", { type: "thread.send", threadId: thread, text: "" }, "malformed", "text"],
  [
    "a malformed provider",
    { type: "thread.switch", threadId: thread, provider: { instance: "No Such", model: null } },
    "malformed",
    "instance",
  ],
  ["an unknown source point", { type: "thread.fork", threadId: thread, at: { kind: "yesterday" } }, "malformed", "at"],
  ["ill-formed Unicode in a title", { type: "thread.create", title: lone }, "malformed", "title"],
  ["ill-formed Unicode in a message", { type: "thread.send", threadId: thread, text: lone }, "malformed", "text"],
  ["ill-formed Unicode in a task", { type: "task.spawn", parentThreadId: thread, prompt: lone }, "malformed", "prompt"],
  ["ill-formed Unicode in a path", { type: "project.add", path: lone }, "malformed", "path"],
  ["ill-formed Unicode in a reason", { type: "task.cancel", taskId: ids.next("task"), reason: lone }, "malformed", "reason"],
  ["ill-formed Unicode in an answer", { type: "run.answer", runId: ids.next("run"), requestId: "r", answer: lone }, "malformed", "answer"],
  ["ill-formed Unicode in an import", importOf({ messages: [{ role: "user", text: lone }] }), "malformed", "messages.0.text"],
  ["ill-formed Unicode in an external id", importOf({ sourceThreadId: lone }), "malformed", "sourceThreadId"],
  ["a control character in an external id", importOf({ sourceThreadId: "a\nb" }), "malformed", "sourceThreadId"],
  ["a NUL in an external id", importOf({ handoffId: "a\u0000b" }), "malformed", "handoffId"],
  ["an empty external id", importOf({ sourceEnvironmentId: "" }), "malformed", "sourceEnvironmentId"],
  ["no messages", importOf({ messages: [] }), "malformed", "messages"],
  ["an unknown role", importOf({ messages: [{ role: "system", text: "x" }] }), "malformed", "role"],
  ["a time before all times", importOf({ messages: [{ role: "user", text: "x", createdAt: -1 }] }), "malformed", "createdAt"],
  ["a title too long", { type: "thread.create", title: "x".repeat(limits.titleChars + 1) }, "limit_exceeded", "title"],
  ["a message too long", { type: "thread.send", threadId: thread, text: "x".repeat(limits.messageChars + 1) }, "limit_exceeded", "text"],
  ["a handoff id too long", importOf({ handoffId: "x".repeat(limits.handoffIdChars + 1) }), "limit_exceeded", "handoffId"],
  ["a prompt too long", importOf({ continuationPrompt: "x".repeat(limits.importPromptChars + 1) }), "limit_exceeded", "continuationPrompt"],
  [
    "too many messages",
    importOf({ messages: Array.from({ length: limits.importMessages + 1 }, () => ({ role: "user", text: "" })) }),
    "limit_exceeded",
    "messages",
  ],
];

test.each(malformed)("%s is refused before anything is written, and the message names the place", async (_what, command, reason, names) => {
  const r = rig();
  const refusal = refusalIn(await r.door.dispatch(command));
  expect(refusal).toMatchObject({ code: "invalid_request", reason });
  expect(refusal.message).toContain(names);
  expect(r.commits).toEqual([]);
});

test.each([
  ["no prefix", "1"],
  ["nothing", "cmd:"],
  ["a space", "cmd:a b"],
  ["a line", "cmd:a\nb"],
  ["too long", `cmd:${"x".repeat(400)}`],
  ["a number", 7],
])("a command id with %s is refused", async (_what, id) => {
  const r = rig();
  expect(refusalIn(await r.door.dispatch({ type: "thread.create" }, { id: id as never }))).toMatchObject({ code: "invalid_request" });
  expect(r.commits).toEqual([]);
});

test("a caller that is none is refused", async () => {
  const r = rig();
  expect(refusalIn(await r.door.dispatch({ type: "thread.create" }, { caller: { kind: "root" } as never }))).toMatchObject({
    code: "invalid_request",
  });
  expect(r.commits).toEqual([]);
});

const [run, task, env] = [ids.next("run"), ids.next("task"), ids.next("env")];
const text = "x";
/** Every command about something that is not there. */
const unknown: [object, string][] = [
  [{ type: "thread.create", projectId: ids.next("project") }, "invalid_request"],
  [{ type: "project.add", path: "/no/such/folder" }, "invalid_request"],
  [{ type: "thread.send", threadId: thread, text }, "thread_not_found"],
  [{ type: "thread.fork", threadId: thread, at: { kind: "latest_stable" } }, "thread_not_found"],
  [{ type: "thread.switch", threadId: thread, provider: { instance: "p1", model: null } }, "thread_not_found"],
  [{ type: "thread.merge_back", threadId: thread }, "thread_not_found"],
  [importOf({ projectId: ids.next("project") }), "invalid_request"],
  [{ type: "thread.import_to", threadId: thread, environmentId: env, handoffId: "h" }, "thread_not_found"],
  [{ type: "link.import", environmentId: env, import: importOf({}).import }, "capability_denied"],
  [{ type: "thread.interrupt", threadId: thread }, "thread_not_found"],
  [{ type: "thread.rename", threadId: thread, title: text }, "thread_not_found"],
  [{ type: "thread.set_modes", threadId: thread }, "thread_not_found"],
  [{ type: "thread.mark", threadId: thread, mark: "pinned", on: true }, "thread_not_found"],
  [{ type: "thread.delete", threadId: thread }, "thread_not_found"],
  [{ type: "run.answer", runId: run, requestId: "r", answer: text }, "run_not_found"],
  [{ type: "task.spawn", parentThreadId: thread, prompt: text }, "thread_not_found"],
  [{ type: "task.cancel", taskId: task }, "task_not_found"],
  [{ type: "task.dismiss", taskId: task }, "task_not_found"],
];

test.each(unknown)("$type about something that is not there is refused, and leaves its receipt alone", async (command, code) => {
  const r = rig();
  expect(refusalIn(await r.door.dispatch(command))).toMatchObject({ code });
  for (const { batch } of r.commits) {
    const { at: _at, receipts, ...rest } = batch;
    expect(receipts).toHaveLength(1);
    expect(Object.values(rest).flat()).toEqual([]);
  }
});

test("trouble in looking at the outside is an answer, not an exception, and is not stored", async () => {
  const r = rig({
    facts: {
      async folder() {
        throw new Error("git is not here");
      },
    },
  });
  const refusal = refusalIn(await r.door.dispatch({ type: "project.add", path: "/x" }));
  expect(refusal).toMatchObject({ code: "orchestration_error", message: "git is not here" });
  expect(r.commits).toEqual([]);
});

test("a repeat is answered without another look at the outside", async () => {
  let looks = 0;
  const r = rig({
    facts: {
      async folder() {
        looks += 1;
        return null;
      },
    },
  });
  const id = ids.next("cmd");
  const first = await r.door.dispatch({ type: "project.add", path: "/x" }, { id });
  expect(await r.door.dispatch({ type: "project.add", path: "/x" }, { id })).toEqual({ ...first, repeated: true });
  expect(looks).toBe(1);
});

describe("commands as text", () => {
  test("are what the same commands are as objects: the same id is the same command", async () => {
    const r = rig();
    const id = ids.next("cmd");
    const command = importOf({});
    const first = await r.door.dispatchText(JSON.stringify({ id, command }));
    expect(first).toMatchObject({ ok: true, commandId: id });
    expect(r.store.receipt(id)).not.toBeNull();
    const bytes = new TextEncoder().encode(JSON.stringify({ command, id }, null, 2));
    expect(await r.door.dispatchText(bytes)).toMatchObject({ ok: true, result: { created: false } });
    expect(await r.door.dispatch(command)).toMatchObject({ ok: true, result: { created: false } });
    expect(refusalIn(await r.door.dispatch(importOf({ title: "other" }), { id }))).toMatchObject({ code: "idempotency_conflict" });
  });

  test.each([
    ["no JSON", "{", "malformed_json"],
    ["nothing", "", "malformed_json"],
    ["no UTF-8", new Uint8Array([0x22, 0xff, 0x22]), "ill_formed_unicode"],
    ["half a surrogate pair", '{"command": {"type": "thread.create", "title": "\\ud83d"}}', "ill_formed_unicode"],
    ["an unknown member beside the command", '{"command": {"type": "thread.create"}, "caller": {"kind": "system"}}', "malformed"],
    ["no command", "{}", "malformed"],
    ["deep nesting", `{"command": ${"[".repeat(100_000)}${"]".repeat(100_000)}}`, "malformed"],
  ])("%s is refused with nothing written", async (_what, json, reason) => {
    const r = rig();
    expect(refusalIn(await r.door.dispatchText(json))).toMatchObject({ code: "invalid_request", reason });
    expect(r.commits).toEqual([]);
  });

  test("beyond the limit are refused by their size, with the limit named, before they are read", async () => {
    const r = rig({ maxBytes: 100 });
    const refusal = refusalIn(await r.door.dispatchText("é".repeat(60)));
    expect(refusal).toMatchObject({ code: "invalid_request", reason: "limit_exceeded" });
    expect(refusal.message).toContain("importRequestBytes");
  });

  test("that are large are read by a worker, with the same outcome", async () => {
    const r = rig();
    const messages = Array.from({ length: 50 }, (_, i) => ({ role: "user", text: `${i} ${"x".repeat(190_000)}` }));
    const [id, other] = [ids.next("cmd"), ids.next("cmd")];
    const json = JSON.stringify({ id, command: importOf({ messages }) });
    expect(json.length).toBeGreaterThan(limits.workerBodyBytes);
    expect(await r.door.dispatchText(json)).toMatchObject({ ok: true, result: { created: true } });
    expect(await r.door.dispatch(importOf({ messages }), { id })).toMatchObject({ ok: true, result: { created: false } });
    const late = JSON.stringify({ id: other, command: importOf({ messages, surplus: 1 }) });
    expect(refusalIn(await r.door.dispatchText(late))).toMatchObject({ code: "invalid_request", reason: "malformed" });
  });
});
