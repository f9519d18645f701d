import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../support/environments.ts";
import { claude, put, read, recorded, refused, said, sessionWith } from "./rig.ts";

test.each(["claude-2.1", "claude-1.0"])(
  "a session of %s is what was said, what was compacted too, and nothing of its subagents",
  async (version) => {
    const session = await sessionWith(version, "AGENT please");
    expect(said(session)).toEqual([
      "user: the codeword is marline\nsecond line",
      "assistant: Noted: marline.",
      "user: RUN something",
      "assistant: ran it",
      "user: BAD thing",
      "user: after all",
      "assistant: ok",
      "user: AGENT please",
      "assistant: the child said it",
      "user: after compaction",
      "assistant: ok",
    ]);
    expect(session).toMatchObject({
      agent: "claude",
      folder: "/workspace",
      version: version === "claude-2.1" ? "2.1.332" : "1.0.128",
      turns: 6,
      leftOut: { toolCalls: 2 },
      problems: [],
    });
  },
);

test.each(["claude-2.1", "claude-1.0"])(
  "a fork of %s that begins after a compaction has the summary in place of what it stands for",
  async (version) => {
    const session = await sessionWith(version, "on a fork");
    expect(session.messages[0]?.role).toBe("user");
    expect(session.messages[0]?.text).toMatch(/^\(\d+ characters\)|^This session is being continued/);
    expect(said(session).slice(-4)).toEqual(["user: after compaction", "assistant: ok", "user: on a fork", "assistant: ok"]);
    expect(session.turns).toBe(2);
  },
);

test("a subagent's own file is named as that", async () => {
  const file = recorded("claude-2.1").find((path) => path.includes("subagents")) as string;
  expect((await refused(file)).problems[0]?.why).toBe("it is a subagent's own conversation");
});

const file = (...lines: (object | string)[]) => put(join(temporaryFolder(), "s1.jsonl"), lines);

test("of a session that was rewound the branch that it goes on with is read, and no other", async () => {
  const { user, agent } = claude("s1");
  const [one, answer] = [user("one"), agent("1")];
  const lines = [one, answer, user("two"), agent("2"), user("instead", { parentUuid: answer.uuid }), agent("3")];
  expect(said(await read(file(...lines)))).toEqual(["user: one", "assistant: 1", "user: instead", "assistant: 3"]);
});

test("what a compaction writes again is told once, at its first place", async () => {
  const { user, agent } = claude("s1");
  const [one, answer] = [user("one"), agent("1")];
  const boundary = { ...user(""), type: "system", subtype: "compact_boundary", parentUuid: null, logicalParentUuid: answer.uuid };
  const summary = user("in short: one", { parentUuid: boundary.uuid, isCompactSummary: true });
  const again = { ...answer, parentUuid: summary.uuid };
  const lines = [one, answer, boundary, summary, again, user("two", { parentUuid: answer.uuid })];
  expect(said(await read(file(...lines)))).toEqual(["user: one", "assistant: 1", "user: two"]);
  // Without what was before, the summary stands for it.
  expect(said(await read(file(...lines.slice(2))))).toEqual(["user: in short: one", "assistant: 1", "user: two"]);
});

test("a title that a person gave counts before one that the program made, and a summary of another session is none", async () => {
  const { user, agent } = claude("s1");
  const lines = [user("one"), agent("1")];
  const elsewhere = { type: "summary", summary: "of another", leafUuid: "00000000-0000-4000-8000-00000000ffff" };
  expect((await read(file(...lines, elsewhere))).title).toBe("one");
  const own = { type: "summary", summary: "of this one", leafUuid: lines[1]?.uuid };
  expect((await read(file(...lines, elsewhere, own))).title).toBe("of this one");
  const given = { type: "custom-title", customTitle: "by hand", sessionId: "s1" };
  expect((await read(file(...lines, given, { type: "ai-title", aiTitle: "made up", sessionId: "s1" }))).title).toBe("by hand");
});

test("a command that was typed is told as typed unless the program itself answered it; what the program adds is left out", async () => {
  const { user, agent } = claude("s1");
  const command = (name: string) =>
    `<command-message>${name} is running</command-message>\n<command-name>/${name}</command-name>\n<command-args>now</command-args>`;
  const lines = [
    user("<local-command-caveat>Caveat</local-command-caveat>"),
    user(command("model")),
    user("<local-command-stdout>Set model</local-command-stdout>"),
    user(command("review")),
    user("Review it thoroughly.", { isMeta: true }),
    agent("reviewed"),
    user([
      { type: "text", text: "<system-reminder>\nmind this\n</system-reminder>" },
      { type: "text", text: "look" },
      { type: "image", source: {} },
    ]),
    user("[Request interrupted by user]"),
    agent("API Error: 400", { isApiErrorMessage: true }),
    agent("seen"),
  ];
  const session = await read(file(...lines));
  expect(said(session)).toEqual(["user: /review now", "assistant: reviewed", "user: look", "assistant: seen"]);
  expect(session.leftOut.attachments).toBe(1);
});

test("a line that cannot be read leaves its message out, and not those before it", async () => {
  const { user, agent } = claude("s1");
  const [one, two, three, four] = [user("one"), agent("1"), user("two"), agent("2")];
  const session = await read(file(one, two, `${JSON.stringify(three).slice(0, -9)}`, four));
  expect(said(session)).toEqual(["user: one", "assistant: 1", "assistant: 2"]);
  expect(session.problems).toEqual([{ file: session.file, line: 3, why: "it is not JSON" }]);
});

test("a session whose beginning is not in its file says so", async () => {
  const { user, agent } = claude("s1");
  user("one");
  const session = await read(file(agent("1"), user("two"), agent("2")));
  expect(said(session)).toEqual(["assistant: 1", "user: two", "assistant: 2"]);
  expect(session.problems[0]).toMatchObject({ line: 1, why: expect.stringContaining("what was said before it is not in this file") });
});
