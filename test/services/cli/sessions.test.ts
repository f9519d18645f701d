import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { appendFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { claude, codex, fixtures, put } from "../sessions/rig.ts";
import { type Answer, world } from "./rig.ts";

const box = world();
beforeAll(async () => {
  await box.up();
});

const homes: string[] = [];
afterAll(() => {
  for (const made of homes) rmSync(made, { recursive: true, force: true });
});

/** An empty home folder; `like`: with a copy of what was recorded of both programs. */
function home(like: "empty" | "recorded" = "empty"): string {
  const made = mkdtempSync(join(tmpdir(), "ropewalk-home-"));
  homes.push(made);
  if (like === "recorded") {
    cpSync(join(fixtures, "codex-0.171"), join(made, ".codex"), { recursive: true });
    cpSync(join(fixtures, "claude-2.1"), join(made, ".claude"), { recursive: true });
  }
  return made;
}

const transcript = (at: string, name: string) => join(at, ".claude", "projects", "-workspace", `${name}.jsonl`);
const run = (HOME: string, ...args: string[]) => box.start(args, { env: { HOME } }).ended;
async function json(HOME: string, ...args: string[]): Promise<Answer> {
  const ended = await run(HOME, "--json", ...args);
  if (ended.json === null) throw new Error(`${ended.stdout}${ended.stderr}`);
  return { code: ended.code, ...ended.json };
}

/** Every file of both programs, with a digest of its bytes, its times and its rights. */
function everything(at: string): string[] {
  return [".codex", ".claude"].flatMap((program) => {
    if (!existsSync(join(at, program))) return [];
    return readdirSync(join(at, program), { recursive: true, encoding: "utf8" }).map((name) => {
      const path = join(at, program, name);
      const facts = statSync(path);
      const digest = facts.isFile() ? createHash("sha256").update(readFileSync(path)).digest("hex") : "folder";
      return `${name} ${facts.mtimeMs} ${facts.size} ${facts.mode} ${digest}`;
    });
  });
}

test("alone it lists the sessions of both programs with a number, says what to type, and changes nothing of theirs", async () => {
  const at = home("recorded");
  const before = everything(at);
  const { code, stdout, stderr } = await run(at);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toMatch(/^ 1 {2}\S.* {2}\d+ turns? +\d+ \w+ ago +\/workspace$/m);
  expect(stdout).toMatch(/^ \d {2}Claude Code {2}the codeword is marline {2}6 turns /m);
  expect(stdout).toMatch(/^ \d {2}Codex +a name by hand {2,}\d turns /m);
  expect(stdout).toContain('ropewalk continue 1 --with scripted "');
  expect(stdout).toContain("ropewalk import --from claude ~/.claude/projects\n");
  expect(stdout).toContain("ropewalk import --from codex ~/.codex/sessions\n");
  expect(everything(at)).toEqual(before);
  const answer = await json(at);
  expect(answer.sessions.map((session: Answer) => session.number)).toEqual([1, 2, 3, 4, 5, 6, 7]);
  expect(answer.sessions[0]).toMatchObject({ agent: "claude", folder: "/workspace", threadId: null });
  expect((await run(at, "--help")).stdout).toContain("Usage: ropewalk");
  expect(await run(at, "nonsense")).toMatchObject({ code: 2 });
});

test("where there is nothing it says so, and how to begin; without a home folder too", async () => {
  const at = home();
  const { code, stdout } = await run(at);
  expect(code).toBe(0);
  expect(stdout).toBe(
    `no sessions of Codex or Claude Code were found below ${at}/.codex and ${at}/.claude\n\nbegin with: ropewalk new "what you want done"\n`,
  );
});

test("a session is continued by its number: its history reaches the provider with the message, and it is a thread from then on", async () => {
  const at = home();
  const folder = join(at, "code");
  mkdirSync(folder);
  const { user, agent } = claude("s-number", folder);
  put(transcript(at, "s-number"), [user("the codeword is heliotrope"), agent("noted")]);
  const before = everything(at);
  await run(at);
  const first = await json(at, "continue", "1", "secret again", "--with", "other");
  expect(first).toMatchObject({ code: 0, ok: true, adopted: "imported", text: "noted again" });
  const { thread } = await box.client.thread(first.threadId);
  expect(thread).toMatchObject({
    title: "the codeword is heliotrope",
    historyOrigin: "v1_import",
    importedFrom: { environmentId: "claude", threadId: "s-number" },
    provider: { instance: "other" },
  });
  const { projects } = await box.client.projects();
  expect(projects.find((project) => project.id === thread.projectId)?.path).toBe(folder);
  const inputs = readFileSync(join(box.dir, "providers", "other", "inputs.jsonl"), "utf8");
  expect(inputs).toContain("the codeword is heliotrope");
  expect((await run(at, "show", first.threadId)).stdout).toMatch(/history +imported from claude \(s-number\)/);
  expect((await json(at)).sessions[0].threadId).toBe(first.threadId);
  const second = await run(at, "continue", "s-num", "secret once");
  expect(second).toMatchObject({ code: 0, stdout: "noted once\n", stderr: `${first.threadId} (the session was made a thread before)\n` });
  expect(everything(at)).toEqual(before);
});

test("a number means the session that stood beside it when the list was shown, whatever was written since", async () => {
  const at = home();
  put(transcript(at, "s-first"), [claude("s-first").user("the first one")]);
  await run(at);
  put(transcript(at, "s-second"), [claude("s-second").user("a newer one", { timestamp: "2026-11-01T00:00:00.000Z" })]);
  const answer = await json(at, "continue", "1", "hello");
  expect((await box.client.thread(answer.threadId)).thread.title).toBe("the first one");
  expect(await json(at, "continue", "7", "hello")).toMatchObject({ code: 2, refusal: { reason: "unknown_reference" } });
  expect(await json(at, "continue", "s-", "hello")).toMatchObject({ code: 2, refusal: { reason: "ambiguous_reference" } });
  expect(await json(at, "continue", "zz", "hello")).toMatchObject({ code: 2, refusal: { reason: "unknown_reference" } });
});

test("a session that has gone on since is continued as it is now, in another thread, and both are told", async () => {
  const at = home();
  const { user, agent } = claude("s-grown");
  const file = put(transcript(at, "s-grown"), [user("one"), agent("1")]);
  const first = await json(at, "continue", file, "hello");
  appendFileSync(file, `${JSON.stringify(user("two"))}\n${JSON.stringify(agent("2"))}\n`);
  const second = await run(at, "continue", file, "hello");
  expect(second.stderr).toMatch(
    new RegExp(`^thread:import:\\w+\\nthe session has gone on since it was made the thread ${first.threadId};`),
  );
  const newId = second.stderr.split("\n")[0] ?? "";
  const items = (await box.client.items(newId as never)).items.map((item) => item.body.kind);
  expect(items.filter((kind) => kind === "user_message")).toHaveLength(3);
});

test("a folder is imported once: every session of a person is a thread, and again nothing is made", async () => {
  const at = home("recorded");
  const first = await json(at, "import", "--from", "codex", join(at, ".codex"));
  expect(first).toMatchObject({ code: 0, ok: true, counts: { imported: 5, already: 0, refused: 0, subagents: 2, unreadable: 0 } });
  const named = first.sessions.filter((session: Answer) => session.title === "a name by hand");
  expect(named).toHaveLength(4);
  const { threads } = await box.client.threads({ limit: 10_000 });
  for (const session of first.sessions.filter((s: Answer) => s.status === "imported"))
    expect(threads.find((thread) => thread.id === session.threadId)).toMatchObject({
      title: session.title,
      importedFrom: { environmentId: "codex", threadId: session.id },
    });
  const again = await json(at, "import", "--from", "codex", join(at, ".codex", "sessions"), join(at, ".codex"));
  expect(again).toMatchObject({ code: 0, counts: { imported: 0, already: 5 } });
  expect((await box.client.threads({ limit: 10_000 })).threads).toHaveLength(threads.length);
  const other = await json(at, "import", "--from", "claude", join(at, ".claude"));
  expect(other).toMatchObject({ code: 0, counts: { imported: 2, unreadable: 0 } });
});

test("imported twice at the same moment it is one thread, and one of the two says that it was there", async () => {
  const at = home();
  put(transcript(at, "s-twice"), [claude("s-twice").user("twice")]);
  const from = ["import", "--from", "claude", join(at, ".claude")];
  const both = (await Promise.all([json(at, ...from), json(at, ...from)])).map((answer) => answer.sessions[0]);
  expect(both.map((session) => session.status).sort()).toEqual(["already", "imported"]);
  expect(both[0].threadId).toBe(both[1].threadId);
});

test("what has gone on since, or whose thread was deleted, is told and left alone; with --again it becomes another thread", async () => {
  const at = home();
  const { user, agent } = claude("s-again");
  const file = put(transcript(at, "s-again"), [user("one"), agent("1")]);
  const from = ["import", "--from", "claude", join(at, ".claude")];
  const [{ threadId }] = (await json(at, ...from)).sessions;
  appendFileSync(file, `${JSON.stringify(user("two"))}\n`);
  expect(await json(at, ...from)).toMatchObject({ counts: { imported: 0, grown: 1 }, sessions: [{ status: "grown", threadId }] });
  expect((await run(at, ...from)).stdout).toMatch(
    /has gone on since it became .*; --again makes another thread of it\n0 sessions .* 1 gone on since/,
  );
  const [grown] = (await json(at, ...from, "--again")).sessions;
  expect(grown.status).toBe("imported");
  expect(grown.threadId).not.toBe(threadId);
  expect(await json(at, ...from, "--again")).toMatchObject({ counts: { already: 1 } });
  for (const id of [threadId, grown.threadId]) await run(at, "delete", id);
  expect(await json(at, ...from)).toMatchObject({ counts: { imported: 0, deleted: 1 } });
  const [anew] = (await json(at, ...from, "--again")).sessions;
  expect([threadId, grown.threadId]).not.toContain(anew.threadId);
  expect(await json(at, ...from)).toMatchObject({ counts: { already: 1 }, sessions: [{ threadId: anew.threadId }] });
});

test("a pipe gets a line for each session, and what cannot be read is named and stops nothing", async () => {
  const at = home();
  put(transcript(at, "s-good"), [claude("s-good").user("a good one"), "{broken"]);
  put(transcript(at, "s-bad"), ["{broken"]);
  put(transcript(at, "s-codex"), [codex.meta("c"), codex.user("of another")]);
  const { code, stdout, stderr } = await run(at, "import", "--from", "claude", join(at, ".claude"), join(at, "absent"));
  expect(code).toBe(0);
  expect(stdout).toMatch(/^imported: a good one \(1 turn\) → thread:import:\w{32}$/m);
  expect(stdout).toMatch(/^not read: .*s-bad.jsonl$/m);
  expect(stdout).toMatch(/^1 session of Claude Code imported; 1 that could not be read$/m);
  expect(stdout).not.toContain("of another");
  expect(stderr).toContain("s-bad.jsonl: it holds no session of Codex or Claude Code (line 1: it is not JSON)");
  expect(stderr).toContain("absent: it is not there");
  expect(stderr).toMatch(/partly read: .*s-good.jsonl, line 2: it is not JSON/);
  expect(await json(at, "import", "--from", "claude", join(at, "absent"))).toMatchObject({ code: 2, ok: false });
});

test("more than an import takes is adopted with what is newest, and it is told", async () => {
  const at = home();
  const talk = Array.from({ length: 2_100 }, (_, n) => codex.user(`message ${n}`));
  const file = put(join(at, "rollout.jsonl"), [codex.meta("s-long"), ...talk, codex.agent("y".repeat(250_000))]);
  const { stdout } = await run(at, "import", "--from", "codex", file);
  expect(stdout).toMatch(/^imported: message 0 \(2100 turns\) → \S+; 102 older messages left out, 1 long message shortened$/m);
});

test("control characters in a title or a folder drive no terminal, neither in the list nor as a thread", async () => {
  const at = home();
  put(transcript(at, "s-evil"), [claude("s-evil", "/tmp/\u001b]0;owned\u0007x").user("red \u001b[31malert\u202e\u0007 here\u009b2J")]);
  const list = await run(at);
  expect(list.stdout).toContain("red [31malert here2J");
  const imported = await run(at, "import", "--from", "claude", join(at, ".claude"));
  const shown = await run(at, "ls");
  const { threads } = await box.client.threads({ limit: 10_000 });
  expect(threads.find((thread) => thread.importedFrom?.threadId === "s-evil")?.title).toBe("red [31malert here2J");
  for (const { stdout, stderr } of [list, imported, shown])
    expect(`${stdout}${stderr}`.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\u202e]/u);
});

test("what does not go together is refused before anything is read", async () => {
  const at = home();
  for (const args of [
    ["import", "--from", "gemini", "x"],
    ["import", "--from", "codex"],
    ["import", "--from", "codex", "x", "--prompt", "go on"],
    ["import", "--from", "codex", "x", "--to", "box"],
    ["import", "a.json", "b.json"],
    ["import", "a.json", "--again"],
    ["sessions", "--limit", "0"],
    ["continue", "1"],
  ])
    expect(await run(at, "--json", ...args), args.join(" ")).toMatchObject({ code: 2, json: { ok: false } });
});

const script = "/usr/bin/script";
test.skipIf(!existsSync(script))("on a terminal a bar shows how far an import is, and what was left out is told below it", () => {
  const at = home();
  for (let n = 0; n < 30; n += 1) put(transcript(at, `s-bar-${n}`), [claude(`s-bar-${n}`).user(`session ${n}`)]);
  put(transcript(at, "s-bar-long"), [claude("s-bar-long").user("z".repeat(250_000))]);
  const bin = new URL("../../../bin/ropewalk.js", import.meta.url).pathname;
  const line = `stty cols 60; '${process.execPath}' '${bin}' --dir '${box.dir}' import --from claude '${join(at, ".claude")}'`;
  const { stdout, status } = spawnSync(script, ["-qec", line, "/dev/null"], {
    encoding: "utf8",
    env: { PATH: process.env.PATH, TERM: "xterm", HOME: at },
  });
  expect(status).toBe(0);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: each drawing of the bar begins by clearing its line
  const drawn = stdout.replace(/\u001b\[\d+m/g, "").split(/\r\u001b\[K/);
  expect(drawn.find((text) => text.startsWith("█".repeat(12)))).toMatch(/^█{12}░{12} 1[56]\/31 /);
  for (const text of drawn.slice(1, -1)) expect([...text].length).toBeLessThanOrEqual(60);
  expect(drawn.at(-1)?.replaceAll("\r\n", "\n")).toMatch(
    /^31 sessions of Claude Code imported\nimported: z+… \(1 turn\) → thread:import:\w{32}; 1 long message shortened\n$/,
  );
});
