import { describe, expect, test } from "vitest";
import type { ThreadId } from "../../../../schemas/ids.ts";
import { hasTerminals, PersonAtTerminal } from "../../../support/terminal.ts";
import type { World } from "../rig.ts";
import { attachWorld, times } from "./rig.ts";

const messages = async (box: World, threadId: ThreadId) =>
  (await box.client.items(threadId)).items.flatMap(({ body }) =>
    body.kind === "user_message" && "text" in body.content ? [body.content.text] : [],
  );

describe.skipIf(!hasTerminals)("an environment that goes away", () => {
  test("down and up: attach says so, keeps what is typed, sends it once when it is back, and shows nothing twice", async () => {
    const box = attachWorld();
    await box.up();
    const threadId = await box.thread("", "hello");
    const me = new PersonAtTerminal(["--dir", box.dir, "attach", threadId]);
    await me.sees(/^○ /m);
    await box.run("down");
    await me.sees("the environment is away");
    me.type("typed while away\r");
    await me.sees("not sent yet: typed while away");
    me.type("and one more\r");
    await me.sees("not sent yet: typed while away\nnot sent yet: and one more");
    me.type("a draft");
    await me.sees("› a draft");
    await box.up();
    await me.sees("the environment is back");
    await me.sees("ok: and one more");
    await me.sees(/^○ /m);
    expect(me.rows().findLast((row) => row !== "")).toBe("› a draft");
    expect(me.text).not.toContain("not sent yet");
    for (const part of ["› hello", "ok: hello", "› typed while away", "› and one more"]) expect(times(me.text, part)).toBe(1);
    expect(await messages(box, threadId)).toEqual(["hello", "typed while away", "and one more"]);
  });

  test("kill -9 in the middle of an answer: what was told stands once, the run's end is told, and the thread goes on", async () => {
    const box = attachWorld();
    const { child, ended } = await box.up();
    const threadId = await box.thread("");
    const me = new PersonAtTerminal(["--dir", box.dir, "attach", threadId]);
    await me.sees(/^○ /m);
    me.type("hang after this\r");
    await me.sees("second li");
    child.kill("SIGKILL");
    await ended;
    await me.sees("the environment is away");
    me.type("go on\r");
    await me.sees("not sent yet: go on");
    await box.up();
    await me.sees("ok: go on");
    for (const part of ["› hang after this", "first line", "run 1: ", "› go on"]) expect(times(me.text, part)).toBe(1);
    expect(await messages(box, threadId)).toEqual(["hang after this", "go on"]);
  });

  test("leaving while it is away tells what was not sent, and so nothing is lost", async () => {
    const box = attachWorld();
    await box.up();
    const me = new PersonAtTerminal(["--dir", box.dir, "attach", await box.thread("", "hello")]);
    await me.sees(/^○ /m);
    await box.run("down");
    await me.sees("the environment is away");
    me.type("never sent\r");
    await me.sees("not sent yet: never sent");
    me.type("\u0004");
    expect(await me.ended).toBe(0);
    expect(me.text).toContain("not sent: never sent");
  });
});
