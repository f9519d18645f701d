import { beforeAll, describe, expect, test } from "vitest";
import type { ThreadId } from "../../../../schemas/ids.ts";
import { hasTerminals, PersonAtTerminal } from "../../../support/terminal.ts";
import { until } from "../rig.ts";
import { attachWorld, times } from "./rig.ts";

const box = attachWorld();
beforeAll(async () => {
  await box.up();
});

const at = async (threadId: ThreadId, options?: ConstructorParameters<typeof PersonAtTerminal>[1]) => {
  const person = new PersonAtTerminal(["--dir", box.dir, "attach", threadId], options);
  await person.sees(/^[○●] /m);
  return person;
};
const runsOf = async (threadId: ThreadId) => (await box.client.threadRuns(threadId)).runs;
const messages = async (threadId: ThreadId) =>
  (await box.client.items(threadId)).items.flatMap(({ body }) =>
    body.kind === "user_message" && "text" in body.content ? [body.content.text] : [],
  );

test("without a terminal it is refused with the commands that suit, and nothing is started", async () => {
  const refused = await box.start(["--json", "attach", "@last"]).ended;
  expect(refused).toMatchObject({
    code: 2,
    json: { ok: false, refusal: { reason: "no_terminal", hint: expect.stringContaining("ropewalk send @last") } },
  });
  expect(await box.run("attach", "@last")).toMatchObject({ code: 2, stderr: expect.stringContaining("ropewalk show @last") });
});

describe.skipIf(!hasTerminals)("at a terminal", () => {
  test("what was said is there, an answer is written as it comes, and what is typed meanwhile is not torn by it", async () => {
    const threadId = await box.thread("Roof", "hello");
    const me = await at(threadId);
    expect(me.text).toContain("› hello\nok: hello\n── run 1: done");
    me.type("answer slowly\r");
    await me.sees("piece 1");
    me.type("my next");
    await me.sees("› my next");
    expect(me.text).not.toContain("and the end");
    await me.sees("run 2: done");
    me.type(" message");
    await me.sees("› my next message");
    expect(me.text).toContain("piece 1 of the long answer, piece 2 of the long answer, piece 3 of the long answer, \npiece 4");
    for (const part of ["› answer slowly", "piece 1 ", "piece 4 ", "piece 8 ", "and the end", "run 2: done"])
      expect(times(me.text, part)).toBe(1);
    // What was drawn below in the meantime has left nothing behind.
    expect(times(me.text, "› my next")).toBe(1);
    expect(times(me.text, "Ctrl-C stops it")).toBe(0);
  });

  test("a message sent while a run is under way is said to wait, and stands in the conversation when its turn comes", async () => {
    const threadId = await box.thread("", "hello");
    const me = await at(threadId);
    me.type("hang on\r");
    await me.sees("● running");
    me.type("then this\r");
    await me.sees("waits its turn: then this");
    expect(me.text).not.toContain("› then this");
    me.type("\u0003");
    await me.sees("ok: then this");
    expect(me.text.indexOf("run 2: stopped")).toBeLessThan(me.text.indexOf("› then this"));
    expect(me.text).not.toContain("waits its turn");
  });

  test("an approval is answered in place: by a key or a word and Enter, and by nothing else", async () => {
    const threadId = await box.thread("");
    const me = await at(threadId);
    me.type("please approve\r");
    await me.sees("y accept, s accept_for_session, n decline, c cancel; then Enter");
    expect(me.text).toContain("? asks: rm -rf build");
    me.type("yesterday\r");
    await me.sees("it asks: y accept");
    expect((await runsOf(threadId))[0]?.status).toBe("waiting");
    me.type("\u0015/say and then go on\r");
    await me.sees("waits its turn: and then go on");
    me.type("n\r");
    await me.sees("left alone");
    await me.sees("ok: and then go on");
    expect(await messages(threadId)).toEqual(["please approve", "and then go on"]);
  });

  test("a question takes words; a line that was begun before it came is no answer until that is confirmed", async () => {
    const threadId = await box.thread("");
    const me = await at(threadId);
    me.type("ask me\r");
    await me.sees("Which colour?");
    await me.sees(/^answer ›$/m);
    me.type("blue\r");
    await me.sees("you said blue");
    me.type("wait then ask\r");
    await me.sees("● running");
    me.type("something else");
    await me.sees("type the answer; then Enter");
    me.type("\r");
    await me.sees("that was begun before the question came");
    expect((await runsOf(threadId))[1]?.status).toBe("waiting");
    me.type("\r");
    await me.sees("you said something else");
  });

  test("Ctrl-C stops the run under way, keeps what it had said, and leaves only when nothing runs", async () => {
    const threadId = await box.thread("");
    const me = await at(threadId);
    me.type("hang after this\r");
    await me.sees("first line\nsecond li\n");
    me.type("\u0003");
    await me.sees("run 1: stopped");
    expect(times(me.text, "first line")).toBe(1);
    expect(me.text).toContain("second li");
    expect((await runsOf(threadId))[0]?.status).toBe("interrupted");
    me.type("\u0003");
    expect(await me.ended).toBe(0);
    expect(me.text).toContain("the thread goes on; come back with: ropewalk attach ");
    expect(me.isGivenBack).toBe(true);
  });

  test("Ctrl-D leaves in the middle of a run, which goes on; what was typed and not sent is told", async () => {
    const threadId = await box.thread("");
    const me = await at(threadId);
    me.type("hang on\r");
    await me.sees("● running");
    me.type("half a thought");
    await me.sees("› half a thought");
    me.type("\u0004");
    me.type("\u0003");
    await me.sees("Ctrl-C again leaves");
    me.type("\u0003");
    expect(await me.ended).toBe(0);
    expect(me.text).toContain("not sent: half a thought");
    const other = await box.thread("");
    const you = await at(other);
    you.type("hang on\r");
    await you.sees("● running");
    you.type("\u0004");
    expect(await you.ended).toBe(0);
    expect((await runsOf(other))[0]?.status).toBe("running");
    await box.run("stop", other);
  });

  test("two terminals and another program on one thread see the same, and each message once", async () => {
    const threadId = await box.thread("", "hello");
    const [me, you] = [await at(threadId), await at(threadId)];
    me.type("from me\r");
    await you.sees("ok: from me");
    you.type("ask me\r");
    await me.sees("Which colour?");
    me.type("green\r");
    await you.sees("you said green");
    await you.sees("· answered: green");
    await you.sees(/^○ /m);
    await box.say(threadId, "from a script");
    for (const person of [me, you]) {
      await person.sees("ok: from a script");
      for (const part of ["› from me", "ok: from me", "you said green", "› from a script"]) expect(times(person.text, part)).toBe(1);
    }
  });

  test("the thread goes on when the terminal is closed, and nothing stays behind at it", async () => {
    const threadId = await box.thread("");
    const me = await at(threadId);
    me.type("answer slowly\r");
    await me.sees("piece 1");
    const { pid } = me;
    await me.hangUp();
    await until(() => !isAlive(pid));
    await until(async () => (await runsOf(threadId))[0]?.status === "completed");
    expect((await at(threadId)).text).toContain("and the end");
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
