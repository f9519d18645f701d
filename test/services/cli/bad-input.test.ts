import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, test } from "vitest";
import type { ThreadId } from "../../../schemas/ids.ts";
import { world } from "./rig.ts";

const box = world();
let threadId: string;
beforeAll(async () => {
  await box.up();
  threadId = await box.thread("a thread", "hello");
});

/** All that a command could have written, but for the receipts of refused ones, which are kept. */
async function written(): Promise<unknown> {
  const { counts } = (await box.client.health()).health;
  const { commit: _, ...thread } = await box.client.snapshot(threadId as ThreadId);
  return { counts, thread };
}

describe("wrong input ends with 2 (refused: 3), says what to do, and writes nothing", () => {
  const unknown = "01a22d31-9dc2-7749-a2be-000000000000";
  const table: [what: string, args: (thread: string) => string[], code: number, refusal: object][] = [
    ["no such command", () => ["shwo", "x"], 2, { code: "invalid_request", reason: "usage" }],
    ["a noun without its verb", () => ["task"], 2, { reason: "usage", message: "a command is missing" }],
    ["a missing argument", (t) => ["send", t], 2, { reason: "usage" }],
    ["an unknown option", () => ["ls", "--al"], 2, { reason: "usage", message: expect.stringContaining("--all") }],
    ["a choice that there is not", () => ["new", "--runtime-mode", "god"], 2, { reason: "usage" }],
    ["an unknown beginning of an id", () => ["show", "ffffffff"], 2, { reason: "unknown_reference" }],
    ["an id that is no reference at all", () => ["show", "a b\nc"], 2, { reason: "unknown_reference" }],
    ["a whole id of nothing", () => ["send", `thread:${unknown}`, "hi"], 2, { code: "thread_not_found" }],
    ["a task that there is not", () => ["task", "cancel", `task:${unknown}`], 2, { code: "task_not_found" }],
    [
      "a transfer that there is not",
      () => ["transfer", "show", `transfer:${unknown}`],
      2,
      { code: "invalid_request", reason: "not_found" },
    ],
    ["an id of something else", () => ["show", `run:${unknown}`], 2, { reason: "unknown_reference" }],
    ["an empty message", (t) => ["send", t, " "], 2, { reason: "no_text" }],
    ["a title that is too long", () => ["new", "--title", "t".repeat(513)], 2, { code: "invalid_request", reason: "limit_exceeded" }],
    ["no length of time", (t) => ["send", t, "hi", "--timeout", "soon"], 2, { reason: "not_a_duration" }],
    [
      "a provider that is not configured",
      (t) => ["send", t, "hi", "--with", "gpt9"],
      3,
      { code: "provider_unavailable", hint: expect.stringContaining("scripted, other") },
    ],
    ["a provider's name that cannot be one", (t) => ["switch", t, "--with", "A B"], 2, { reason: "not_a_provider" }],
    ["a fork at a run that there is not", (t) => ["fork", t, "--at", "7"], 2, { reason: "unknown_reference" }],
    ["a merge of what is no fork", (t) => ["merge-back", t], 2, { code: "invalid_request" }],
    ["a folder that is not there", () => ["project", "add", "/no/such/folder"], 2, { reason: "no_such_folder" }],
    ["a request id that cannot be one", () => ["--request-id", "a b", "new"], 2, { reason: "request_id" }],
    ["a file that is not there", () => ["import", "/no/such/file.json"], 2, { reason: "unreadable" }],
  ];
  test.each(table)("%s", async (_, args, code, refusal) => {
    const before = await written();
    const ended = await box.run("--json", ...args(threadId));
    expect(ended.json).toMatchObject({ ok: false, refusal });
    expect(ended.code).toBe(code);
    expect(ended.stderr).toMatch(/^error: .+\nhint: .+\n$/m);
    expect(await written()).toEqual(before);
  });
});

test("a message that is longer than a message may be is refused by name", async () => {
  const { code, json } = await box.start(["--json", "send", threadId, "-"], { input: "x".repeat(200_001) }).ended;
  expect({ code, json }).toMatchObject({
    code: 2,
    json: { refusal: { reason: "limit_exceeded", message: expect.stringContaining("text") } },
  });
});

test("bytes that are no UTF-8 are refused, typed or piped: they would be changed on their way", async () => {
  const before = await written();
  const piped = await box.start(["--json", "send", threadId, "-"], { input: new Uint8Array([0x68, 0xff]) }).ended;
  expect(piped).toMatchObject({ code: 2, json: { refusal: { reason: "ill_formed_unicode" } } });
  // Only a shell can type such bytes; Node gives its arguments in UTF-8.
  const bin = fileURLToPath(new URL("../../../bin/ropewalk.js", import.meta.url));
  const typed = spawnSync("bash", ["-c", `"$0" "$1" --dir "$2" --json send "$3" $'h\\xff'`, process.execPath, bin, box.dir, threadId], {
    encoding: "utf8",
  });
  expect(typed.status).toBe(2);
  expect(JSON.parse(typed.stdout)).toMatchObject({ refusal: { reason: "ill_formed_unicode" } });
  expect(await written()).toEqual(before);
});
