import { beforeAll, describe, expect, test } from "vitest";
import type { ThreadId } from "../../../../schemas/ids.ts";
import { widthOf } from "../../../../services/cli/terminal.ts";
import { hasTerminals, PersonAtTerminal } from "../../../support/terminal.ts";
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
/** Words of the draft, whichever rows it is broken into. */
const typedIn = (person: PersonAtTerminal) => times(person.text.replaceAll("\n  ", ""), "word");
const lastMessage = async (threadId: ThreadId) =>
  (await box.client.items(threadId)).items.map(({ body }) => body).findLast(({ kind }) => kind === "user_message");

describe.skipIf(!hasTerminals)("typing", () => {
  test.each([true, false])("a paste of several lines (marked by the terminal: %s) waits for Enter and is one message", async (isMarked) => {
    const threadId = await box.thread("");
    const me = await at(threadId);
    if (isMarked) me.paste("one\r\ttwo\r\rthree\r");
    else me.type("one\r\ttwo\r\rthree\r");
    await me.sees("› one");
    await me.sees(/^ {2}three$/m);
    expect((await box.client.threadRuns(threadId)).runs).toEqual([]);
    me.type("end");
    me.type("\r");
    await me.sees("run 1: done");
    expect(await lastMessage(threadId)).toMatchObject({ content: { text: "one\n\ttwo\n\nthree\nend" } });
  });

  test("wide characters, accents and emoji are one character each, for the cursor and for what takes them away", async () => {
    const threadId = await box.thread("");
    const me = await at(threadId);
    me.type("日本👩‍👩‍👧é!");
    await me.sees("› 日本");
    me.type("\u001b[D\u001b[D\u001b[D\u007f");
    await me.sees((person) => person.text.includes("› 日👩"));
    expect(me.cursor.column).toBe(4);
    me.type("\u0005\r");
    await me.sees("run 1: done");
    expect(await lastMessage(threadId)).toMatchObject({ content: { text: "日👩‍👩‍👧é!" } });
  });

  test("what was sent before comes back with up, that of earlier days too; editing keys do what a shell's do", async () => {
    const threadId = await box.thread("", "from yesterday");
    const me = await at(threadId);
    me.type("sent now\r");
    await me.sees("ok: sent now");
    me.type("draft");
    await me.sees("› draft");
    me.type("\u001b[A\u001b[A");
    await me.sees((person) => person.rows().includes("› from yesterday"));
    me.type("\u0017\u0017to");
    await me.sees((person) => person.rows().includes("› to"));
    me.type("\u001b[B\u001b[B");
    await me.sees((person) => person.rows().includes("› draft"));
  });

  test("40 columns and resizing: no row is broken by the terminal, and nothing of what stood below stays behind", async () => {
    const threadId = await box.thread("A title that is much longer than forty columns of a terminal can hold", "hello");
    const me = await at(threadId, { columns: 40, rows: 12 });
    const draft = `${"word ".repeat(14)}日本語日本語`;
    me.type(draft);
    await me.sees((person) => person.text.replace(/\n {2}/g, "").includes(draft));
    for (const row of me.rows()) expect(widthOf(row)).toBeLessThanOrEqual(40);
    me.resize(60, 12);
    await me.sees((person) => person.text.includes("/help · Ctrl-D leaves\n") && typedIn(person) === 14);
    me.resize(30, 10);
    await me.sees((person) => person.text.includes("/help · …\n") && typedIn(person) === 14);
    me.type("\r");
    await me.sees("run 2: done");
    await me.sees(/^○ /m);
    expect(times(me.text, "/help")).toBeLessThanOrEqual(1);
    expect(await lastMessage(threadId)).toMatchObject({ content: { text: draft } });
  });

  test("an answer of many lines and a low window: all of it is told, in order, once", async () => {
    const threadId = await box.thread("");
    const me = await at(threadId, { columns: 40, rows: 6 });
    me.type("something lengthy\r");
    await me.sees("run 1: done");
    const told = me.lines().filter((line) => /^line \d+ of it$/.test(line));
    expect(told).toEqual(Array.from({ length: 2_000 }, (_, n) => `line ${n} of it`));
  });

  test("nothing that an agent says steers the terminal, or shows a command other than it is", async () => {
    const threadId = await box.thread("\u001b]0;title\u0007T");
    const me = await at(threadId);
    me.type("be hostile\r");
    await me.sees("then Enter");
    me.type("no\r");
    await me.sees("run 1: done");
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must not be there
    const ours = me.written.replace(/\u001b\[(\?2004[hl]|\?25[hl]|\d*[ACDJKm]|\d+;\d+m)/g, "");
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must not be there
    expect(ours).not.toMatch(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
    expect(me.text).toContain("safe dlo");
    expect(me.text).toContain("· ran echo [31mred gpj.exe");
  });
});
