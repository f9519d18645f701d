import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { lookUp } from "../../../../services/providers/claude/lookup.ts";
import { hasEntry, sessionFile } from "../../../../services/providers/claude/session-file.ts";
import { writersOf } from "../../../../services/providers/claude/writers.ts";

const session = "11111111-1111-4111-8111-111111111111";
const given = "0197f000-0000-7000-8000-000000000001";
const query = { cwd: "/w", threadId: "thread:test", attemptId: `attempt:${given}` };
const nativeRef = { id: session, strength: "strong" } as const;

let home: string;
let path: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "ropewalk-claude-home-"));
  mkdirSync(join(home, "projects", "-w"), { recursive: true });
  path = join(home, "projects", "-w", `${session}.jsonl`);
});
afterEach(() => rmSync(home, { recursive: true }));

const write = (...entries: Record<string, unknown>[]) => writeFileSync(path, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(""));
const user = (uuid: string, content: unknown = "said") => ({ type: "user", uuid, message: { content } });
const assistant = (uuid: string) => ({ type: "assistant", uuid, message: { content: [] } });

it("A turn goes from its input to its last entry: results and a note of an interrupt belong to it, a child's words and a next input do not", async () => {
  write(
    user("before"),
    { type: "queue-operation", content: given },
    user(given),
    assistant("a1"),
    user("r1", [{ type: "tool_result" }]),
    { ...assistant("child"), isSidechain: true },
    user("i1", [{ type: "text", text: "[Request interrupted by user for tool use]" }]),
    { type: "attachment", uuid: "later" },
    user("next"),
    assistant("a2"),
  );
  appendFileSync(path, '{"type":"assistant","uuid":"half');
  const found = { outcome: "accepted", nativeRef, turnRef: { id: "i1", strength: "strong" }, ending: null };
  expect(await lookUp(home, { ...query, nativeRef })).toEqual(found);
  expect(await lookUp(home, { ...query, nativeRef: null })).toEqual(found);
});

it("A session that is there and does not have the input was not given it; one that is not there says nothing", async () => {
  write(user("before"), { type: "queue-operation", content: given }, assistant("mentions"), { type: "note", text: `"uuid":"${given}"` });
  expect(await lookUp(home, { ...query, nativeRef })).toEqual({ outcome: "absent" });
  expect(await lookUp(home, { ...query, nativeRef: null })).toEqual({ outcome: "absent" });
  expect(await lookUp(home, { ...query, nativeRef: { ...nativeRef, id: "another" } })).toEqual({ outcome: "unknown" });
});

it("An entry is found by its own uuid alone, in whatever folder the session was begun", async () => {
  write(user("first"), { type: "assistant", uuid: "second", parentUuid: "elsewhere" });
  expect(sessionFile(home, session)).toBe(path);
  expect(sessionFile(home, "another")).toBeNull();
  expect(await Promise.all(["first", "second", "elsewhere"].map((uuid) => hasEntry(path, uuid)))).toEqual([true, true, false]);
});

it("Another process that has a session open is seen while it lives, and no longer", () => {
  const folder = join(home, "sessions");
  mkdirSync(folder);
  const entry = (name: string, fields: Record<string, unknown>) => writeFileSync(join(folder, name), JSON.stringify(fields));
  entry("1.json", { pid: process.pid, sessionId: session });
  entry("2.json", { pid: process.pid, sessionId: "another" });
  entry("3.json", { pid: 2 ** 22 + 1, sessionId: session });
  entry("4.key", { pid: process.pid, sessionId: session });
  writeFileSync(join(folder, "5.json"), "{half");
  expect(writersOf(home, session)).toEqual([process.pid]);
  expect(writersOf(home, "nobody's")).toEqual([]);
  // A number that another process has got since.
  entry("1.json", { pid: process.pid, sessionId: session, procStart: "1" });
  expect(writersOf(home, session)).toEqual(process.platform === "linux" ? [] : [process.pid]);
});
