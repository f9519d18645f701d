import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";
import type { CommandId } from "../../../schemas/ids.ts";
import { type Answer, lately, until, world } from "./rig.ts";

const box = world();
beforeAll(async () => {
  await box.up();
});

describe("talking", () => {
  test("new with a text makes a thread, sends the text, and prints the answer and nothing else on standard output", async () => {
    const { code, stdout, stderr } = await box.run("new", "Hello there");
    expect({ code, stdout }).toEqual({ code: 0, stdout: "ok: Hello there\n" });
    expect(stderr).toMatch(/^thread:[0-9a-f-]{36}\n$/);
  });

  test("send waits for the answer; with --json it is one document with the contract's names", async () => {
    const threadId = await box.thread("talk");
    const answer = await box.json("send", threadId, "make it busy");
    expect(answer).toMatchObject({ ok: true, threadId, ordinal: 1, status: "completed", text: "built it", run: { status: "completed" } });
    expect(answer.items.map((item: Answer) => item.body.kind)).toEqual(["user_message", "command", "reasoning", "assistant_message"]);
  });

  test("a message of many thousand characters is sent from standard input, as it is", async () => {
    const threadId = await box.thread("");
    const text = `${"ü".repeat(150_000)} end`;
    const { code } = await box.start(["send", threadId, "-"], { input: `${text}\n` }).ended;
    expect(code).toBe(0);
    const shown = await box.json("show", threadId, "--full");
    expect(shown.items[0].body.content).toEqual({ text });
    expect(Buffer.byteLength(JSON.stringify(await box.client.snapshot(threadId)))).toBeLessThan(100_000);
  });

  test("a run that fails ends with 3, its error and what to do", async () => {
    const threadId = await box.thread("");
    const { code, stderr, stdout } = await box.run("send", threadId, "please fail");
    expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
    expect(stderr).toMatch(/^error: .*out of paper/m);
    expect(stderr).toMatch(/^hint: /m);
  });

  test("without waiting the answer is read later", async () => {
    const threadId = await box.thread("");
    const sent = await box.json("send", threadId, "one", "--no-wait");
    expect(sent).toMatchObject({ ok: true, threadId, ordinal: 1, repeated: false });
    await until(async () => (await box.client.threadRuns(threadId)).runs[0]?.status === "completed");
    expect((await box.run("run", "list", threadId)).stdout).toMatch(
      new RegExp(`^1 +[0-9a-f]{8} +done +scripted +[\\d.]+ s +${lately}$`, "m"),
    );
  });

  test("the same call under one request id does nothing twice", async () => {
    const threadId = await box.thread("");
    const first = await box.json("--request-id", `r-${threadId}`, "send", threadId, "once");
    const again = await box.json("--request-id", `r-${threadId}`, "send", threadId, "once");
    expect(again).toMatchObject({ runId: first.runId, repeated: true, text: "ok: once" });
    expect((await box.client.threadRuns(threadId)).runs).toHaveLength(1);
    const other = await box.run("--json", "--request-id", `r-${threadId}`, "send", threadId, "something else");
    expect(other).toMatchObject({ code: 3, json: { ok: false, refusal: { code: "idempotency_conflict" } } });
  });

  test("control sequences of an agent do not reach the terminal", async () => {
    const threadId = await box.thread("");
    expect((await box.run("send", threadId, "escape")).stdout).toBe("]0;ownedred [31mtext\n");
    expect((await box.run("show", threadId)).stdout).not.toContain("\u001b");
  });
});

const script = "/usr/bin/script";
test.skipIf(!existsSync(script))(
  "on a terminal a message is written as it comes, each part once, and what the run does stands between",
  async () => {
    const threadId = await box.thread("");
    const bin = new URL("../../../bin/ropewalk.js", import.meta.url).pathname;
    const line = `'${process.execPath}' '${bin}' --dir '${box.dir}' send ${threadId} 'in parts'`;
    const { stdout, status } = spawnSync(script, ["-qec", line, "/dev/null"], {
      encoding: "utf8",
      env: { PATH: process.env.PATH, TERM: "xterm" },
    });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours, and the line that tells of waiting, are taken out
    const seen = stdout.replace(/\r\u001b\[K(\u001b\[2m[^\n]*?\u001b\[22m)?/g, "").replace(/\u001b\[\d+m/g, "");
    expect(seen.replaceAll("\r\n", "\n").trimStart()).toBe("one two\n· ran make all\nthree four\n");
    expect(status).toBe(0);
  },
);

describe("showing", () => {
  test("show tells who said what, in words, and --json has the whole snapshot with its commit", async () => {
    const threadId = await box.thread("Fix the roof", "make it busy");
    const { stdout } = await box.run("show", threadId);
    expect(stdout).toMatch(/^Fix the roof\n/);
    expect(stdout).toMatch(/status +idle/);
    expect(stdout).toMatch(/── run 1 \(done, scripted, .*\) ──\nyou\n {2}make it busy\n/);
    expect(stdout).toContain("· ran make all\n    built\n");
    expect(stdout).toContain("agent\n  built it");
    expect(stdout).not.toContain("I wonder");
    expect((await box.run("show", threadId, "--all")).stdout).toContain("I wonder");
    expect(await box.json("show", threadId)).toMatchObject({
      commit: expect.any(Number),
      thread: { id: threadId, title: "Fix the roof" },
      progress: null,
    });
  });

  test("any unique beginning names a thread, and @last the newest; an ambiguous one lists what it may mean and ends with 2", async () => {
    const [one, two] = [await box.thread("a"), await box.thread("b")];
    expect((await box.json("show", one.slice("thread:".length, -3))).thread.id).toBe(one);
    expect((await box.json("show", one.slice("thread:".length).replaceAll("-", "").slice(0, 30))).thread.id).toBe(one);
    expect((await box.json("show", "@last")).thread.id).toBe(two);
    const ambiguous = await box.run("--json", "show", "0");
    expect(ambiguous).toMatchObject({
      code: 2,
      json: { ok: false, refusal: { reason: "ambiguous_reference", details: { candidates: expect.arrayContaining([two]) } } },
    });
    expect(ambiguous.stderr).toContain(two);
  });

  test("ls draws forks below what they came from, shortens ids so that they still name one thread, and hides the archived", async () => {
    const threadId = await box.thread("Trunk", "hello");
    const fork = (await box.run("fork", threadId, "--title", "Branch")).stdout.trim();
    const { stdout } = await box.run("ls");
    const lines = stdout.split("\n");
    const trunk = lines.findIndex((line) => line.startsWith("Trunk "));
    expect(lines[trunk]).toMatch(new RegExp(`^Trunk +[0-9a-f-]{8,36} +idle +1 run +scripted +${lately}$`));
    expect(lines[trunk + 1]).toMatch(new RegExp(`^└─ fork: Branch +[0-9a-f-]{8,36} +idle +0 runs +- +${lately}$`));
    const short = /Branch +(\S+)/.exec(stdout)?.[1] ?? "";
    expect((await box.client.resolve("thread", { ref: short })).ids).toEqual([fork]);
    expect((await box.run("archive", fork)).stdout).toBe("archived\n");
    expect((await box.run("ls")).stdout).not.toContain("Branch");
    expect((await box.run("ls", "--all")).stdout).toContain("idle, archived");
    expect((await box.run("unarchive", fork)).stdout).toBe("back in the list\n");
    expect((await box.json("ls")).threads.map((t: Answer) => t.id)).toContain(fork);
  });
});

describe("lineage", () => {
  test("fork, merge back and switch are told in words, from waiting to delivered, and in the contract's names with --json", async () => {
    const threadId = await box.thread("Main", "secret tulip");
    const { threadId: fork, transferId } = await box.json("fork", threadId, "--at", "1");
    expect((await box.run("transfer", "show", transferId)).stdout).toMatch(/status +waiting/);
    await box.say(fork, "go on");
    expect((await box.run("transfer", "show", transferId)).stdout).toMatch(/status +delivered, exact \(native\)/);
    const shown = await box.json("transfer", "show", transferId);
    expect(shown.transfer).toMatchObject({ type: "fork", status: "consumed", resolution: { kind: "native_fork" } });
    expect(shown.history.map((step: Answer) => step.to)).toContain("consumed");

    const merged = await box.json("merge-back", fork);
    expect(merged).toMatchObject({ ok: true, into: threadId, supersedes: null });
    expect((await box.run("switch", threadId, "--with", "other")).stdout).toBe("the next message goes to other\n");
    await box.say(threadId, "who are you");
    const listed = await box.run("transfer", "list", threadId);
    expect(listed.stdout).toMatch(/^switch .* delivered, retold \(nothing left out\)/m);
    expect(listed.stdout).toMatch(/^merge back .* delivered, retold \(nothing left out\)/m);

    const handoff = await box.run("handoff", "show", merged.transferId);
    expect(handoff).toMatchObject({ code: 0 });
    expect(handoff.stdout).toMatch(/left out +nothing/);
    expect(handoff.stdout).toContain("go on");
    const { handoffs } = await box.client.transfer(merged.transferId);
    expect((await box.json("handoff", "show", handoffs[0]?.id.slice("handoff:".length, -2) ?? "")).handoff.id).toBe(handoffs[0]?.id);
  });

  test("a thread with forks is deleted only with --keep-forks", async () => {
    const threadId = await box.thread("", "hello");
    await box.client.command({ type: "thread.fork", threadId, at: { kind: "latest_stable" } }, `cmd:fork-${threadId}` as CommandId);
    expect(await box.run("--json", "delete", threadId)).toMatchObject({ code: 2, json: { refusal: { reason: "has_forks" } } });
    expect((await box.run("delete", threadId, "--keep-forks")).stdout).toBe("deleted; 1 fork keeps what is needed of it\n");
    expect((await box.client.threads()).threads.map((t) => t.id)).not.toContain(threadId);
  });

  test("a project is added once, and a thread made inside its folder works there", async () => {
    const first = await box.json("project", "add", box.dir, "--name", "the box");
    expect(await box.json("project", "add", box.dir)).toMatchObject({ projectId: first.projectId, created: false });
    expect((await box.run("project", "list")).stdout).toContain("the box");
    const { json } = await box.start(["--json", "new"], { cwd: box.dir }).ended;
    expect((await box.client.thread(json.threadId)).thread.projectId).toBe(first.projectId);
    expect((await box.json("ls", "--project", "the box")).threads.map((t: Answer) => t.id)).toEqual([json.threadId]);
  });
});
