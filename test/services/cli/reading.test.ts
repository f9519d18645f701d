import { beforeAll, describe, expect, test } from "vitest";
import { widthOf } from "../../../services/cli/terminal.ts";
import { hasTerminals, PersonAtTerminal } from "../../support/terminal.ts";
import { config, world } from "./rig.ts";

const box = world(config());
box.put("script.json", {
  rules: [
    { match: { contains: "approve" }, steps: [{ approval: { text: "rm -rf build", question: "command" } }, { text: "done" }] },
    { match: { contains: "fail" }, steps: [{ fail: { message: "the model is out of paper" } }] },
    {
      match: { contains: "edit" },
      steps: [
        ...["a.txt", "b.txt", "a.txt", "c.txt", "d.txt", "e.txt", "f.txt"].map((path) => ({ fileChange: { path, change: "update" } })),
        { text: "edited" },
      ],
    },
  ],
});
beforeAll(async () => {
  await box.up();
});

const title = "日本語の題名 and a title that goes on for much longer than any row of a terminal is wide";

describe("ls", () => {
  test.skipIf(!hasTerminals).each([30, 40, 60, 100])(
    "on a terminal of %i columns a row is one row, with the thread's name in it whatever else has to go",
    async (columns) => {
      const root = await box.thread(title, "hello");
      let at = root;
      for (let depth = 0; depth < 8; depth += 1)
        at = (await box.json("fork", at, "--at", "1", "--title", `level ${depth} ${title}`)).threadId;
      const me = new PersonAtTerminal(["--dir", box.dir, "ls"], { columns, rows: 200 });
      expect(await me.ended).toBe(0);
      const { threads } = await box.client.threads();
      const seen = (person: PersonAtTerminal) => person.rows().filter((row) => row !== "");
      await me.sees((person) => seen(person).length >= threads.length);
      const rows = seen(me);
      expect(rows).toHaveLength(threads.length);
      for (const row of rows) {
        expect(widthOf(row)).toBeLessThanOrEqual(columns);
        expect(row).toMatch(/ [0-9a-f]{8}/);
      }
    },
  );

  test("through a pipe nothing is cut, coloured or left out", async () => {
    const threadId = await box.thread(title, "hello");
    const { stdout } = await box.run("ls");
    expect(stdout).not.toContain("\u001b");
    expect(stdout).toMatch(new RegExp(`^${title} +[0-9a-f-]+ +idle +1 run +scripted +`, "m"));
    expect(stdout).toContain(threadId.slice("thread:".length, "thread:".length + 8));
  });

  test("what needs a person is marked, and says why", async () => {
    await box.thread("an asking one", "approve");
    await box.thread("a failed one", "fail");
    const { stdout } = await box.run("ls");
    expect(stdout).toMatch(/^an asking one +[0-9a-f-]+ +! waits for you +/m);
    expect(stdout).toMatch(/^a failed one +[0-9a-f-]+ +! idle, failed +/m);
  });

  test.skipIf(!hasTerminals)("colours are only for a terminal that wants them", async () => {
    await box.thread("an asking one", "approve");
    const plain = new PersonAtTerminal(["--dir", box.dir, "ls"], { env: { NO_COLOR: "1" } });
    const coloured = new PersonAtTerminal(["--dir", box.dir, "ls"]);
    await Promise.all([plain.ended, coloured.ended]);
    expect(plain.written).not.toContain("\u001b[");
    expect(coloured.written).toContain("\u001b[33m! waits for you");
  });
});

describe("show", () => {
  test("of a long thread it shows the newest part, and says how to see the rest", async () => {
    const threadId = await box.thread("", ...Array.from({ length: 6 }, (_, n) => `say ${n}.`));
    const { stdout } = await box.run("show", threadId, "--limit", "4");
    expect(stdout).toContain("── what came before: --limit, or --all ──\n── run 5 ");
    expect(stdout).not.toContain("say 3.");
    const all = (await box.run("show", threadId, "--all")).stdout;
    expect(all).toContain("say 0.");
    expect(all).not.toContain("what came before");
  });

  test("runs that were taken back are one line, and whole with --all", async () => {
    const threadId = await box.thread("", "say one.", "say two.", "say three.", "say four.");
    await box.run("undo", threadId, "--to", "1", "--yes");
    await box.say(threadId, "say five.");
    const { stdout } = await box.run("show", threadId);
    expect(stdout).toContain("── runs 2 to 4 were taken back; see with --all ──\n── run 5 (done");
    expect(stdout).not.toContain("say two.");
    const all = (await box.run("show", threadId, "--all")).stdout;
    expect(all).toMatch(/── run 2 \(taken back, .*\n.*\n {2}say two\./);
  });

  test("what a run changed is one line, what needs a person stands on top with the command that clears it", async () => {
    const threadId = await box.thread("", "edit", "approve");
    const { stdout } = await box.run("show", threadId);
    expect(stdout).toContain("  6 files changed: a.txt, b.txt, c.txt, d.txt, e.txt and 1 more");
    expect(stdout).toMatch(/^! .*rm -rf build.*: ropewalk ok [0-9a-f]{8}/m);
  });

  test("transfers and tasks are rows with names that can be typed; of many the newest, and how to see the others", async () => {
    const threadId = await box.thread("", "hello");
    for (let n = 0; n < 11; n += 1)
      await box.client.command({ type: "task.spawn", parentThreadId: threadId, prompt: "count", title: `task ${n}` });
    const { stdout } = await box.run("show", threadId);
    expect(stdout).toContain("11 tasks, the newest 10; all with --all\n  task 1 ");
    const short = /^ {2}task 10 +\S.*? +([0-9a-f-]{8,36}) +/m.exec(stdout)?.[1] ?? "";
    const { tasks } = await box.client.tasks({ parent: threadId });
    expect((await box.client.resolve("task", { ref: short })).ids).toEqual([tasks.find((task) => task.title === "task 10")?.id]);
  });
});
