import { beforeAll, describe, expect, test } from "vitest";
import type { CommandId, ThreadId } from "../../../../schemas/ids.ts";
import { ThreadReader } from "../../../../services/cli/attach/reader.ts";
import { Transcript } from "../../../../services/cli/attach/transcript.ts";
import { hasTerminals, PersonAtTerminal } from "../../../support/terminal.ts";
import { attachWorld, times } from "./rig.ts";

const box = attachWorld();
beforeAll(async () => {
  await box.up();
});

const at = async (threadId: ThreadId) => {
  const person = new PersonAtTerminal(["--dir", box.dir, "attach", threadId]);
  await person.sees(/^[○●] /m);
  return person;
};

describe.skipIf(!hasTerminals)("commands at the terminal", () => {
  test("/help names those that there are; another is not sent as a message, and a path is", async () => {
    const threadId = await box.thread("");
    const me = await at(threadId);
    me.type("/he\t\r");
    await me.sees("/undo [RUN|start|back]");
    me.type("/nonsense\r");
    await me.sees("there is no /nonsense");
    me.type("/usr/bin is full\r");
    await me.sees("ok: /usr/bin is full");
    me.type("//stop\r");
    await me.sees("ok: /stop");
    me.type("/quit\r");
    expect(await me.ended).toBe(0);
  });

  test("/fork, /switch, /undo and /older do what their commands do, and a refusal is told with its hint", async () => {
    const threadId = await box.thread("", ...Array.from({ length: 25 }, (_, n) => `say ${n}.`));
    const me = await at(threadId);
    expect(me.text).not.toContain("› say 0.");
    me.type("/older\r");
    await me.sees("── that is the beginning ──");
    expect(times(me.text, "› say 0.")).toBe(1);
    me.type("/fork A branch\r");
    await me.sees("go on there with: ropewalk attach ");
    const fork = (await box.client.threads({ parent: threadId })).threads[0];
    expect(fork?.title).toBe("A branch");
    await me.sees(/^◆ fork [0-9a-f-]+ goes on from here$/m);
    me.type("/switch nobody\r");
    await me.sees("error: ");
    me.type("/switch other\r");
    await me.sees("the next message goes to other");
    me.type("/undo\r");
    await me.sees("take this back?");
    me.type("n\r");
    await me.sees("nothing was done");
    me.type("/undo\r");
    await me.sees(/take this back\? y, or n\n/);
    me.type("y\r");
    await me.sees("── run 25 was taken back ──");
    me.type("/undo back\r");
    await me.sees("── run 25 is back ──");
    await box.client.command(
      { type: "thread.send", threadId: fork?.id as ThreadId, text: "on the branch" },
      `cmd:${threadId}-send` as CommandId,
    );
    await box.run("merge-back", fork?.id ?? "");
    await me.sees(/^◆ merge back from [0-9a-f-]+: goes with the next message$/m);
    me.type("what came?\r");
    await me.sees(/^◆ merge back from [0-9a-f-]+: delivered, retold$/m);
  });

  test("a task that another program spawns is told by its start and its end, and its result comes as one line", async () => {
    const threadId = await box.thread("", "hello");
    const me = await at(threadId);
    await box.json("spawn", threadId, "count the doors", "--title", "doors", "--wait", "--timeout", "60s");
    await me.sees(/^◆ task doors \([0-9a-f-]+\): done$/m);
    await me.sees(/^◆ result of doors: done$/m);
  });
});

test("after more was said than a client is told as patches, all of it is told all the same, once", async () => {
  const threadId = await box.thread("", "hello");
  const told: string[] = [];
  const reader = new ThreadReader(box.client, threadId, new AbortController().signal);
  const transcript = new Transcript(reader, () => 80);
  const look = async () => told.push(...(await transcript.take(await box.client.viewThread(threadId, { limit: 5 }))).lines);
  await look();
  for (let n = 0; n < 4; n += 1) await box.say(threadId, `many ${n}`);
  await look();
  await look();
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are not shown as text
  const text = told.join("\n").replace(/\u001b\[[0-9;]*m/g, "");
  expect(text.match(/^· ran step \d+$/gm)).toEqual(Array.from({ length: 240 }, (_, n) => `· ran step ${n % 60}`));
  for (const part of ["› hello", "› many 0", "› many 3", "run 4: done"]) expect(times(text, part)).toBe(1);
});
