import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, chmodSync, createWriteStream, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { LineFile, maxLineBytes } from "../../../services/sessions/lines.ts";
import { readSession } from "../../../services/sessions/read.ts";
import { walk } from "../../../services/sessions/walk.ts";
import { temporaryFolder } from "../../support/environments.ts";
import { claude, codex, put, read, refused, said } from "./rig.ts";

const folder = () => temporaryFolder();

describe.each(["codex", "claude"] as const)("a session of %s", (agent) => {
  function lines(): object[] {
    if (agent === "codex") return [codex.meta("s1"), codex.user("one"), codex.agent("1", 2), codex.user("two", 3), codex.agent("2", 4)];
    const { user, agent: answer } = claude("s1");
    return [user("one"), answer("1"), user("two"), answer("2")];
  }

  test("whose last line is cut off is read up to it, and the line is named", async () => {
    const all = lines();
    const cut = JSON.stringify(all.at(-1)).slice(0, -20);
    const session = await read(put(join(folder(), "s1.jsonl"), [...all.slice(0, -1), cut], true));
    expect(said(session)).toEqual(["user: one", "assistant: 1", "user: two"]);
    expect(session.problems).toEqual([{ file: session.file, line: all.length, why: "it has no end: it is being written, or was cut off" }]);
  });

  test("that ends without a newline is read whole", async () => {
    const session = await read(put(join(folder(), "s1.jsonl"), lines(), true));
    expect(said(session)).toHaveLength(4);
    expect(session.problems).toEqual([]);
  });

  test("with a line that is no UTF-8, no JSON or no object, and blank ones, is read without them, and each is named", async () => {
    const file = join(folder(), "s1.jsonl");
    const [first, ...rest] = lines().map((line) => JSON.stringify(line));
    const bytes = Buffer.concat([
      Buffer.from(`\ufeff${first}\n\n`),
      Buffer.from([0x22, 0xff, 0xfe, 0x0a]),
      Buffer.from("{oops\n[1]\nnull\n  \n"),
      Buffer.from(`${rest.join("\r\n")}\r\n`),
    ]);
    writeFileSync(file, bytes);
    const session = await read(file);
    expect(said(session)).toEqual(["user: one", "assistant: 1", "user: two", "assistant: 2"]);
    expect(session.problems.map(({ line, why }) => [line, why])).toEqual([
      [3, "it is not UTF-8"],
      [4, "it is not JSON"],
      [5, "it is no JSON object"],
      [6, "it is no JSON object"],
    ]);
  });

  test("of which thousands of lines are broken names some and counts the rest", async () => {
    const session = await read(put(join(folder(), "s1.jsonl"), [...lines(), ...Array.from({ length: 5_000 }, () => "{broken")]));
    expect(session.problems).toHaveLength(21);
    expect(session.problems.at(-1)?.why).toBe("4980 more lines of it could not be read");
  });

  test("that is written while it is read is as it was when it was opened, and a file that is moved or deleted meanwhile too", async () => {
    const dir = folder();
    const path = put(join(dir, "s1.jsonl"), lines());
    await using file = await LineFile.open(path);
    appendFileSync(path, `${JSON.stringify({ late: true })}\n{"half":`);
    const first = [];
    for await (const line of file.lines()) first.push(line);
    renameSync(path, join(dir, "moved.jsonl"));
    rmSync(join(dir, "moved.jsonl"));
    const second = [];
    for await (const line of file.lines()) second.push(line);
    expect(second).toEqual(first);
    expect(first.every((line) => "value" in line && line.value.late === undefined)).toBe(true);
    expect(first).toHaveLength(lines().length);
  });

  test("with half a character in a message is told in well-formed text", async () => {
    const text = JSON.stringify(lines()).replace('"two"', '"t\\ud83dwo"');
    const session = await read(put(join(folder(), "s1.jsonl"), JSON.parse(text)));
    expect(said(session)).toContain("user: t\ufffdwo");
  });
});

test("a line of 50 MB is named and passed over, and the memory that it takes has a bound", async () => {
  const file = join(folder(), "s1.jsonl");
  const out = createWriteStream(file);
  const write = async (text: string) => {
    if (!out.write(text)) await once(out, "drain");
  };
  await write(`${JSON.stringify(codex.meta("s1"))}\n${JSON.stringify(codex.user("one"))}\n`);
  await write('{"timestamp":"2026-01-01T00:00:01.000Z","type":"event_msg","payload":{"type":"agent_message","message":"');
  for (let written = 0; written < 50 * 1024 * 1024; written += 1024 * 1024) await write("x".repeat(1024 * 1024));
  await write(`"}}\n${JSON.stringify(codex.user("two"))}\n`);
  out.end();
  await once(out, "close");
  const before = process.memoryUsage().arrayBuffers;
  let most = 0;
  const looking = setInterval(() => {
    most = Math.max(most, process.memoryUsage().arrayBuffers - before);
  }, 1);
  const session = await read(file);
  clearInterval(looking);
  expect(said(session)).toEqual(["user: one", "user: two"]);
  expect(session.problems).toEqual([{ file, line: 3, why: "it is longer than 32 MiB" }]);
  // The line's pieces, and not the whole of a second copy.
  expect(most).toBeLessThan(maxLineBytes * 1.5);
});

test("more than an import takes keeps the newest, and says in the conversation what is missing; a huge message keeps both ends", async () => {
  const talk = Array.from({ length: 2_500 }, (_, n) => codex.user(`message ${n}`, 1));
  const long = codex.agent(`begin${"x".repeat(300_000)}end`);
  const session = await read(put(join(folder(), "r.jsonl"), [codex.meta("s1"), ...talk, long]));
  expect(session.messages).toHaveLength(2_000);
  expect(session.leftOut).toMatchObject({ olderMessages: 502, shortened: 1 });
  expect(session.turns).toBe(2_500);
  expect(said(session)[0]).toBe("user: (502 earlier messages are left out here.)");
  expect(said(session)[1]).toBe("user: message 502");
  const last = session.messages.at(-1)?.text ?? "";
  expect(last.length).toBeLessThanOrEqual(200_000);
  expect(last).toMatch(/^beginx+\n\(… \d+ characters are left out here …\)\nx+end$/);
  expect(session.title).toBe("message 0");
});

test("what is empty, a folder, a pipe, not there or nobody's session is named, each for its reason", async () => {
  const dir = folder();
  mkdirSync(join(dir, "folder.jsonl"));
  spawnSync("mkfifo", [join(dir, "pipe.jsonl")]);
  writeFileSync(join(dir, "empty.jsonl"), "");
  put(join(dir, "other.jsonl"), [{ hello: "world" }, { role: "user", content: "hi" }]);
  put(join(dir, "meta.jsonl"), [codex.meta("s1")]);
  put(join(dir, "badid.jsonl"), [codex.meta("s\u001b1"), codex.user("one")]);
  const why = async (name: string) => (await refused(join(dir, name))).problems[0]?.why;
  expect(await why("folder.jsonl")).toBe("it is no regular file");
  expect(await why("pipe.jsonl")).toBe("it is no regular file");
  expect(await why("empty.jsonl")).toBe("it is empty");
  expect(await why("absent.jsonl")).toBe("it is not there");
  expect(await why("other.jsonl")).toBe("it holds no session of Codex or Claude Code");
  expect(await why("meta.jsonl")).toBe("it holds no messages");
  expect(await why("badid.jsonl")).toBe("it holds no session of Codex or Claude Code");
  expect(await readSession(join(dir, "meta.jsonl"), "claude")).toMatchObject({ ok: false, kind: "other" });
});

/** Root reads everything; such a test is somebody else for its time. */
function asNobody(): void {
  if (process.getuid?.() !== 0 || process.seteuid === undefined) return;
  process.seteuid(65_534);
  onTestFinished(() => process.seteuid?.(0));
}

test("a file and a folder that this user may not read are named, and the rest is read", async () => {
  const dir = folder();
  chmodSync(dir, 0o755);
  const file = put(join(dir, "open", "s1.jsonl"), [codex.meta("s1"), codex.user("one")]);
  const secret = put(join(dir, "open", "s2.jsonl"), [codex.meta("s2"), codex.user("one")]);
  mkdirSync(join(dir, "shut"));
  chmodSync(secret, 0o000);
  chmodSync(join(dir, "shut"), 0o000);
  asNobody();
  expect((await refused(secret)).problems[0]?.why).toBe("this user may not read it");
  const walked = await walk(dir, () => true);
  expect(walked.files.map((found) => found.path).sort()).toEqual([file, secret].sort());
  expect(walked.problems).toEqual([{ file: join(dir, "shut"), line: null, why: "this user may not read it" }]);
});
