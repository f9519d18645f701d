import { afterAll, beforeAll, expect, test } from "vitest";
import { findSessions, sessionFolders } from "../../services/sessions/find.ts";
import { readSession } from "../../services/sessions/read.ts";
import { HomeShell } from "../support/home-shell.ts";
import { answers, MessagesEndpoint, whenAsked } from "../support/messages-endpoint.ts";
import { ModelEndpoint, type ModelRule, say, shell, when } from "../support/model-endpoint.ts";
import { RealSessions, type SessionProgram } from "../support/real-sessions.ts";

/** A model that knows what its conversation holds, and nothing else. */
const remembers: ModelRule = ({ transcript, prompt }) =>
  prompt.includes("which codeword?") ? say(/codeword is (\w+)/.exec(transcript.join("\n"))?.[1] ?? "I do not know") : undefined;

let responses: ModelEndpoint;
let messages: MessagesEndpoint;
beforeAll(async () => {
  responses = await ModelEndpoint.start(remembers, when("RUN", shell("echo printed"), say("ran it")), when("codeword", say("Noted.")));
  messages = await MessagesEndpoint.start(
    whenAsked("RUN", { kind: "tool", name: "Bash", input: { command: "echo printed", description: "prints" } }, answers("ran it")),
    whenAsked("codeword", answers("Noted.")),
  );
});
afterAll(async () => {
  await responses[Symbol.asyncDispose]();
  await messages[Symbol.asyncDispose]();
});

const endpointOf = (program: SessionProgram) => (program.startsWith("codex") ? responses.baseUrl : messages.baseUrl);

test.each(["codex", "codex-old", "claude-code", "claude-code-old"] as const)(
  "a session that %s has just written is read as it was held, and again when it has gone on",
  async (program) => {
    using sessions = await RealSessions.create(program, endpointOf(program));
    const id = await sessions.say(`the codeword is ${program}`);
    await sessions.say("RUN something", id);
    const look = async () => (await findSessions(sessionFolders({ HOME: sessions.home }), 10)).sessions;
    const [found, ...others] = await look();
    expect(others).toEqual([]);
    expect(found).toMatchObject({ id, folder: sessions.workspace, turns: 2, messages: 4, problems: [], leftOut: { toolCalls: 1 } });
    await sessions.say("and on", id);
    const [grown] = await look();
    expect(grown).toMatchObject({ id, turns: 3 });
    expect(grown?.position).not.toBe(found?.position);
    const read = await readSession(grown?.file ?? "");
    expect(read.ok && read.session.messages.map(({ role, text }) => `${role}: ${text}`)).toEqual([
      `user: the codeword is ${program}`,
      "assistant: Noted.",
      "user: RUN something",
      "assistant: ran it",
      "user: and on",
      "assistant: ok",
    ]);
  },
);

test("From nothing to a continued answer in two commands: a real Codex goes on with what real Claude Code and Codex have left", async () => {
  using codex = await RealSessions.create("codex", responses.baseUrl);
  using claude = await RealSessions.create("claude-code", messages.baseUrl, codex.home);
  await codex.say("the codeword is heliotrope");
  await claude.say("the codeword is kingfisher");
  const [bin = ""] = codex.start.command;
  await using person = new HomeShell({ PATH: "/usr/bin:/bin", ROPEWALK_CODEX_BIN: bin, FAKE_KEY: "dummy-key-of-a-test" }, codex.home);
  const before = person.left();
  const list = await person.ropewalk();
  expect(list.stdout).toMatch(
    /^ 1 {2}Claude Code {2}the codeword is kingfisher {2}1 turn .*\n 2 {2}Codex {8}the codeword is heliotrope {2}1 turn /,
  );
  const answer = await person.ropewalk("continue", "1", "which codeword?", "--with", "codex");
  expect(answer).toMatchObject({ code: 0, stdout: "kingfisher\n" });
  console.log(`${person.typed} commands, ${person.seconds.toFixed(1)} s from the first line to the first continued answer`);
  expect(person.typed).toBeLessThanOrEqual(3);
  expect(await person.ropewalk("continue", "2", "which codeword?")).toMatchObject({ code: 0, stdout: "heliotrope\n" });
  // What was there is as it was; what Codex wrote for the threads is known as ropewalk's, and not offered again.
  for (const [file, digest] of before) expect(person.left().get(file)).toBe(digest);
  const again = await person.ropewalk("--json");
  expect(JSON.parse(again.stdout).sessions.map((session: { threadId: string | null }) => session.threadId === null)).toEqual([
    false,
    false,
  ]);
});
