import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { findSessions, gather, lookUp, sessionFolders } from "../../../services/sessions/find.ts";
import { readSession } from "../../../services/sessions/read.ts";
import { walk } from "../../../services/sessions/walk.ts";
import { temporaryFolder } from "../../support/environments.ts";
import { claude, codex, fixtures, put } from "./rig.ts";

/** A home folder of the test's own with what was recorded of both programs. */
function home(): string {
  const made = temporaryFolder();
  cpSync(join(fixtures, "codex-0.171"), join(made, ".codex"), { recursive: true });
  cpSync(join(fixtures, "claude-2.1"), join(made, ".claude"), { recursive: true });
  return made;
}

test("the folders are those of CODEX_HOME and CLAUDE_CONFIG_DIR, else below HOME; without a HOME there are none", () => {
  expect(sessionFolders({ HOME: "/home/x" })).toEqual({ codex: "/home/x/.codex", claude: "/home/x/.claude" });
  expect(sessionFolders({ HOME: "/home/x", CODEX_HOME: "/a", CLAUDE_CONFIG_DIR: "/b" })).toEqual({ codex: "/a", claude: "/b" });
  expect(sessionFolders({})).toEqual({ codex: null, claude: null });
});

test("the sessions of both programs are found, newest first, each once, without those of subagents and of ropewalk", async () => {
  const folder = home();
  const own = put(join(folder, ".codex", "sessions", "rollout-2026-01-01T00-00-00-00000000-0000-7000-8000-000000000001.jsonl"), [
    codex.meta("00000000-0000-7000-8000-000000000001", { originator: "ropewalk" }),
    codex.user("hello"),
  ]);
  const found = await findSessions(sessionFolders({ HOME: folder }), 100);
  expect(found.sessions.map((session) => `${session.agent} ${session.turns} ${session.title}`).sort()).toEqual([
    "claude 2 after compaction",
    "claude 6 the codeword is marline",
    "codex 3 a name by hand",
    "codex 3 a name by hand",
    "codex 4 the codeword is marline",
    "codex 5 a name by hand",
    "codex 6 a name by hand",
  ]);
  expect(found.sessions.map((s) => s.changedAt)).toEqual(found.sessions.map((s) => s.changedAt).sort((a, b) => b - a));
  expect(found.sessions.some((session) => session.file === own)).toBe(false);
  expect([found.more, found.problems, found.unreadable]).toEqual([0, [], []]);
});

test("an archived session is not listed, and a fork of it is read with what it refers to there", async () => {
  const folder = home();
  const root = join(folder, ".codex", "sessions");
  const names = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".jsonl"));
  const fork = names.find((name) => readFileSync(join(root, name), "utf8").includes('"forked_from_ordinal_exclusive"')) ?? "";
  mkdirSync(join(folder, ".codex", "archived_sessions"));
  for (const name of names.filter((name) => name !== fork))
    renameSync(join(root, name), join(folder, ".codex", "archived_sessions", basename(name)));
  const found = await findSessions(sessionFolders({ HOME: folder }), 100);
  const codexSessions = found.sessions.filter((session) => session.agent === "codex");
  expect(codexSessions).toMatchObject([{ file: join(root, fork), messages: 6 }]);
  expect(await readSession(join(root, fork))).toMatchObject({ ok: true, session: { turns: 3 } });
});

test("of many only the newest are opened, and the others are counted", async () => {
  const folder = temporaryFolder();
  for (let n = 0; n < 5; n += 1) {
    const file = put(join(folder, ".claude", "projects", "-x", `s${n}.jsonl`), [claude(`s${n}`).user(`session ${n}`)]);
    utimesSync(file, 1_000 + n, 1_000 + n);
  }
  const opened: string[] = [];
  const found = await findSessions(sessionFolders({ HOME: folder }), 2, (path) => opened.push(path));
  expect([opened.length, found.sessions.length, found.more]).toEqual([2, 2, 3]);
  expect(opened[0]).toContain("s4.jsonl");
});

test("a session is found by its id or the beginning of it", async () => {
  const folders = sessionFolders({ HOME: home() });
  const { sessions } = await findSessions(folders, 100);
  for (const session of sessions) expect((await lookUp(folders, session.id)).paths).toEqual([session.file]);
  expect((await lookUp(folders, "44e1251d")).paths[0]).toContain("44e1251d-75a4");
  expect((await lookUp(folders, "nothing")).paths).toEqual([]);
});

test("a folder that is named gives each session below it once, by the file that it goes on in, with the names that people gave", async () => {
  const folder = home();
  const { paths, around, problems } = await gather([join(folder, ".codex"), join(folder, ".codex", "sessions"), join(folder, "absent")]);
  expect(paths).toHaveLength(7);
  expect(around.names?.size).toBe(4);
  expect(problems).toEqual([{ file: join(folder, "absent"), line: null, why: "it is not there" }]);
});

test("a loop of symbolic links has an end, a link to a file is one session, and folders are not left through links", async () => {
  const folder = temporaryFolder();
  const elsewhere = temporaryFolder();
  const file = put(join(folder, "a", "s1.jsonl"), [claude("s1").user("one")]);
  put(join(elsewhere, "s2.jsonl"), [claude("s2").user("two")]);
  symlinkSync(folder, join(folder, "a", "up"));
  symlinkSync(elsewhere, join(folder, "out"));
  symlinkSync(elsewhere, join(folder, "out.jsonl"));
  symlinkSync(file, join(folder, "again.jsonl"));
  symlinkSync(join(folder, "circle.jsonl"), join(folder, "circle.jsonl"));
  symlinkSync(join(folder, "gone"), join(folder, "dangling.jsonl"));
  const { files, problems } = await walk(folder, (path) => path.endsWith(".jsonl"));
  expect(files.map((found) => found.path)).toEqual([file]);
  expect(problems.map(({ why }) => why).sort()).toEqual(["it is not there", "its symbolic links lead in a circle"]);
  mkdirSync(join(folder, ...Array.from({ length: 30 }, () => "deep")), { recursive: true });
  writeFileSync(join(folder, ...Array.from({ length: 30 }, () => "deep"), "s3.jsonl"), "");
  expect((await walk(folder, () => true)).problems.some(({ why }) => why.includes("folders deep"))).toBe(true);
});
