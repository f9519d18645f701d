import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { zstdCompressSync } from "node:zlib";
import { expect, test } from "vitest";
import { RolloutFiles } from "../../../services/sessions/codex/files.ts";
import { readCodexNames } from "../../../services/sessions/codex/names.ts";
import { readSession } from "../../../services/sessions/read.ts";
import { temporaryFolder } from "../../support/environments.ts";
import { codex, fixtures, put, read, recorded, refused, said, sessionWith } from "./rig.ts";

const talk = [
  "user: the codeword is marline\nsecond line",
  "assistant: Noted: marline.",
  "user: RUN something",
  "assistant: ran it",
  "user: BAD thing",
  "user: after all",
  "assistant: ok",
];

test.each(["codex-0.171", "codex-0.60"])(
  "a session of %s is what was said, with its folder, and what was done is counted",
  async (version) => {
    const session = await sessionWith(version, "after all");
    expect(said(session)).toEqual(talk);
    expect(session).toMatchObject({
      agent: "codex",
      folder: "/workspace",
      version: version === "codex-0.60" ? "0.60.1" : "0.171.0",
      title: "the codeword is marline",
      turns: 4,
      leftOut: { olderMessages: 0, shortened: 0, toolCalls: 1, attachments: 0 },
      problems: [],
      startedBy: "person",
    });
    expect(session.id).toMatch(/^[0-9a-f-]{36}$/);
    expect(session.messages.every((message) => message.createdAt !== null)).toBe(true);
  },
);

test("a session of the oldest form, which says neither folder nor times, is read all the same", async () => {
  const session = await sessionWith("codex-0.20", "codeword");
  expect(said(session)).toEqual(talk.slice(0, 2));
  expect(session).toMatchObject({ folder: null, version: null, turns: 1 });
});

test("a thread that went back twice is read along its files, without what was taken back", async () => {
  const session = await sessionWith("codex-0.171", "after going back");
  const before = ["user: the codeword is marline", "assistant: Noted: marline.", "user: RUN two", "assistant: ran it"];
  expect(said(session)).toEqual([
    ...before,
    "user: after going back",
    "assistant: ok",
    "user: SLOW one",
    "user: SPAWN a child",
    "assistant: spawned",
  ]);
  const files = new RolloutFiles(recorded("codex-0.171"));
  expect(files.newest(session.id)).toBe(session.file);
  expect(files.heads()).toContain(session.file);
  expect(files.heads().filter((file) => basename(file).includes(session.id))).toHaveLength(1);
});

test("a fork is read with the history that it refers to, also where that is copied into its file", async () => {
  const forks = [];
  for (const file of recorded("codex-0.171")) {
    const session = await read(file);
    if (said(session).includes("user: on the fork")) forks.push(session);
  }
  expect(forks).toHaveLength(2);
  for (const fork of forks)
    expect(said(fork)).toEqual([
      "user: the codeword is marline",
      "assistant: Noted: marline.",
      "user: RUN two",
      "assistant: ran it",
      "user: on the fork",
      "assistant: ok",
    ]);
  // The same, where its file is named from the folder that one is in.
  const [fork] = forks;
  expect(said(await read(relative(process.cwd(), fork?.file ?? "")))).toHaveLength(6);
});

test("a fork whose history is in a file that is not there is named and not read", async () => {
  const fork = recorded("codex-0.171").find((file) => readFileSync(file, "utf8").includes('"history_base"')) as string;
  const alone = join(temporaryFolder(), basename(fork));
  copyFileSync(fork, alone);
  expect((await refused(alone)).problems[0]?.why).toMatch(/another session's file, which is not there \([0-9a-f-]{36}\)/);
});

test("what an older version rolled back is left out, and a subagent's session is known as one", async () => {
  const file = put(join(temporaryFolder(), "r.jsonl"), [
    codex.meta("s1", { source: { subagent: "review" } }),
    codex.user("one"),
    codex.agent("1"),
    codex.user("two", 3),
    codex.agent("2", 4),
    codex.user("three", 5),
    { timestamp: "2026-01-01T00:00:06.000Z", type: "event_msg", payload: { type: "thread_rolled_back", num_turns: 2 } },
    codex.user("four", 7),
  ]);
  const session = await read(file);
  expect(said(session)).toEqual(["user: one", "assistant: 1", "user: four"]);
  expect(session).toMatchObject({ turns: 2, startedBy: "agent" });
});

test("a message that a version wrote in both forms is told once, and one that a person said twice is told twice", async () => {
  const item = (type: string, text: string) => ({
    timestamp: "2026-01-01T00:00:01.000Z",
    type: "event_msg",
    payload: {
      type: "item_completed",
      item: {
        type,
        content: [
          { type: "text", text },
          { type: "image", url: "x" },
        ],
      },
    },
  });
  const file = put(join(temporaryFolder(), "r.jsonl"), [
    codex.meta("s1"),
    item("UserMessage", "again"),
    codex.user("again"),
    codex.user("again", 2),
    item("AgentMessage", "so be it"),
    codex.agent("so be it"),
  ]);
  const session = await read(file);
  expect(said(session)).toEqual(["user: again", "user: again", "assistant: so be it"]);
  expect(session.leftOut.attachments).toBe(2);
});

test("names that people gave are read from the index, the last one counts, and without an index there are none", async () => {
  const names = await readCodexNames(join(fixtures, "codex-0.171", "session_index.jsonl"));
  const session = await sessionWith("codex-0.171", "after going back");
  expect(names.get(session.id)).toBe("a name by hand");
  const named = await readSession(session.file, "codex", { names });
  expect(named).toMatchObject({ ok: true, session: { title: "a name by hand" } });
  expect((await readCodexNames(join(temporaryFolder(), "session_index.jsonl"))).size).toBe(0);
});

test("a rollout that Codex has compressed is read as it was", async () => {
  const plain = recorded("codex-0.60")[0] as string;
  const packed = join(temporaryFolder(), `${basename(plain)}.zst`);
  writeFileSync(packed, zstdCompressSync(readFileSync(plain)));
  expect(said(await read(packed))).toEqual(said(await read(plain)));
  writeFileSync(packed, zstdCompressSync(readFileSync(plain)).subarray(0, 200));
  expect((await refused(packed)).problems).not.toEqual([]);
});

test("answers that are only there in an unknown form make the session named, not empty", async () => {
  const file = put(join(temporaryFolder(), "r.jsonl"), [
    codex.meta("s1"),
    { timestamp: "2026-01-01T00:00:01.000Z", type: "response_item", payload: { type: "message", role: "assistant", content: [] } },
  ]);
  expect((await refused(file)).problems[0]?.why).toBe("its messages are in a form that is not known");
});
