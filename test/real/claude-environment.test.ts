import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { agentsOf, bash, processesOf, transcript } from "../support/claude-world.ts";
import { startEnvironment, type TestEnvironment, until } from "../support/environments.ts";
import { answers, MessagesEndpoint, type MessagesRule, whenAsked } from "../support/messages-endpoint.ts";
import { dummyClaudeKey, RealClaude } from "../support/real-claude.ts";

/** An environment whose agent is the real Claude Code, with a model on loopback, beside a scripted second provider. */
async function claudeEnvironment(...rules: MessagesRule[]) {
  return withLease(undefined, ...rules);
}

async function withLease(leaseMs: number | undefined, ...rules: MessagesRule[]) {
  const endpoint = await MessagesEndpoint.start(...rules);
  onTestFinished(() => endpoint[Symbol.asyncDispose]());
  const claude = await RealClaude.create(endpoint);
  onTestFinished(() => claude[Symbol.dispose]());
  const config = { ...claude.config, ...(leaseMs !== undefined && { leaseMs }) };
  const env: TestEnvironment = await startEnvironment({
    scripts: { other: null },
    config: { providers: { claude: config }, defaultProvider: "claude" },
  });
  return { env, endpoint, claude };
}

const held = (marker: string) => {
  const answer = Promise.withResolvers<void>();
  onTestFinished(() => answer.resolve());
  return whenAsked(marker, { kind: "later", until: answer.promise, reply: answers("too late") });
};

describe("a real Claude behind the runtime", () => {
  it("F01 A fork at run 1 of 3 shows the model run 1 and nothing of runs 2 and 3, natively", async () => {
    const { env, endpoint } = await claudeEnvironment();
    const s = await env.newThread();
    const r1 = await env.say(s, "ONE codeword heron");
    await env.say(s, "TWO");
    await env.say(s, "THREE");
    const { threadId: f, transferId } = await env.send({ type: "thread.fork", threadId: s, at: { kind: "run", runId: r1.id } });
    expect(env.threads.providerThreads(f)).toEqual([]);
    expect((await env.say(f, "FORKED what was the codeword")).status).toBe("completed");
    expect(env.transfers.history(transferId).map((h) => h.to)).toEqual(["pending", "pending", "resolved_native", "consumed"]);
    expect(transcript(endpoint)).toEqual(["user: ONE codeword heron", "assistant: ok", "user: FORKED what was the codeword"]);
    const [source] = env.threads.providerThreads(s);
    const [fork] = env.threads.providerThreads(f);
    expect(fork?.nativeRef.id).not.toBe(source?.nativeRef.id);
    await env.say(s, "FOUR");
    expect(transcript(endpoint)).toContain("user: THREE");
  });

  it("F05 A native fork that Claude cannot make fails transfer and run, keeps the message, and the next send is retold", async () => {
    const { env: before, endpoint, claude } = await claudeEnvironment(whenAsked("ONE", answers("the answer is plover")));
    const s = await before.newThread();
    await before.say(s, "ONE");
    const { threadId: f, transferId } = await before.send({ type: "thread.fork", threadId: s, at: { kind: "latest_stable" } });
    const env = await before.restart();
    execFileSync("find", [claude.home, "-name", "*.jsonl", "-delete"]);
    expect(await env.say(f, "FIRST TRY")).toMatchObject({ status: "failed", acceptedAt: null });
    expect(env.transfers.get(transferId)?.status).toBe("failed");
    expect((await env.say(f, "SECOND TRY")).status).toBe("completed");
    const [, successor] = env.threads.transfers(f).filter((t) => t.type === "fork");
    expect(successor).toMatchObject({ status: "consumed", supersedes: transferId, resolution: { kind: "portable_context" } });
    expect(transcript(endpoint).join("\n")).toContain("the answer is plover");
  });

  it("F01 After an undo of two runs of four the model is shown the first two and the new message, in the same session, also later", async () => {
    const { env, endpoint } = await claudeEnvironment();
    const s = await env.newThread();
    const runs = [];
    for (const n of [1, 2, 3, 4]) runs.push(await env.say(s, `message ${n}`));
    const before = env.threads.providerThreads(s).map((p) => p.nativeRef.id);
    await env.send({ type: "thread.undo", threadId: s, to: runs[1]!.id });
    expect((await env.say(s, "new")).status).toBe("completed");
    const kept = ["user: message 1", "assistant: ok", "user: message 2", "assistant: ok", "user: new"];
    expect(transcript(endpoint)).toEqual(kept);
    const again = await env.restart();
    await again.say(s, "later");
    expect(transcript(endpoint)).toEqual([...kept, "assistant: ok", "user: later"]);
    expect(again.threads.providerThreads(s).map((p) => p.nativeRef.id)).toEqual(before);
  });

  it("H02 H10 Away to another provider and back: Claude is let go of, resumes its own session and is told exactly what it missed", async () => {
    const { env, endpoint, claude } = await claudeEnvironment();
    const s = await env.newThread();
    await env.say(s, "claude one");
    expect((await env.say(s, "missed by claude", { provider: { instance: "other", model: null } })).status).toBe("completed");
    expect(agentsOf(claude)).toEqual([]);
    await env.say(s, "claude again", { provider: { instance: "claude", model: null } });
    const told = transcript(endpoint);
    expect(told.slice(0, 2)).toEqual(["user: claude one", "assistant: ok"]);
    expect(told.filter((line) => line.includes("missed by claude"))).toHaveLength(1);
    expect(told.filter((line) => line.includes("claude one"))).toHaveLength(1);
    expect(told.at(-1)).toBe("user: claude again");
    expect(env.threads.providerThreads(s).filter((p) => p.instance === "claude")).toHaveLength(1);
  });

  it("R02 A process killed in the middle of a turn ends its run, and the thread goes on in a new process", async () => {
    const { env, claude, endpoint } = await claudeEnvironment(held("HOLD"));
    const s = await env.newThread();
    await env.say(s, "codeword bittern");
    const { runId } = await env.send({ type: "thread.send", threadId: s, text: "HOLD on" });
    await until(() => endpoint.about("HOLD").length > 0, "the model's request");
    for (const pid of agentsOf(claude)) process.kill(pid, "SIGKILL");
    expect(await env.ended(runId)).toMatchObject({ status: "failed", error: { reason: "provider_process_died" } });
    expect((await env.say(s, "still there?")).status).toBe("completed");
    expect(transcript(endpoint).join("\n")).toContain("codeword bittern");
  });

  it("A model that answers with an error fails the run with a typed error, and the next message works", async () => {
    const statuses = [401, 429, 529];
    const { env } = await claudeEnvironment(
      ...statuses.map((status) => whenAsked(`E${status}.`, { kind: "status", status, message: "refused by the test's model" })),
    );
    const s = await env.newThread();
    for (const status of statuses) {
      const run = await env.say(s, `E${status}.`);
      expect(run).toMatchObject({ status: "failed", error: { code: "provider_unavailable" } });
      expect(run.error?.hint).not.toBe("");
    }
    expect((await env.say(s, "fine again")).status).toBe("completed");
  });

  it("The key is in no file of the environment, whatever the model's endpoint says and the agent prints", async () => {
    const { env, endpoint } = await claudeEnvironment(
      whenAsked("ENV", bash("env; tr '\\0' '\\n' </proc/$CLAUDE_PID/environ"), answers("done")),
      whenAsked("E401.", { kind: "status", status: 401, message: `the key ${dummyClaudeKey} is wrong` }),
    );
    const s = await env.newThread({ runtimeMode: "full-access" });
    expect((await env.say(s, "ENV")).status).toBe("completed");
    expect((await env.say(s, "E401.")).status).toBe("failed");
    expect(endpoint.requests.every(({ headers }) => headers["x-api-key"] === dummyClaudeKey)).toBe(true);
    const config = join(env.dir, "config.json");
    const files = readdirSync(env.dir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const holding = files.map((file) => join(file.parentPath, file.name)).filter((path) => readFileSync(path).includes(dummyClaudeKey));
    // Where the test itself wrote it down for the environment.
    expect(holding.filter((path) => path !== config)).toEqual([]);
  });

  it("A model that answers nothing at all leaves the run running until it is stopped, and the thread goes on", async () => {
    const { env, endpoint } = await claudeEnvironment(whenAsked("SILENT", { kind: "silence" }));
    const s = await env.newThread();
    const { runId } = await env.send({ type: "thread.send", threadId: s, text: "SILENT please" });
    await until(() => endpoint.about("SILENT").length > 0, "the model's request");
    await until(() => env.runs.get(runId)?.status === "running", "the run's acceptance");
    await env.send({ type: "thread.interrupt", threadId: s });
    expect((await env.ended(runId)).status).toBe("interrupted");
    expect((await env.say(s, "and now?")).status).toBe("completed");
  });

  it("R02 A run without any sign of life ends with its lease, and nothing of it is left running", async () => {
    const { env, claude } = await withLease(15_000, whenAsked("SILENT", { kind: "silence" }));
    const s = await env.newThread();
    const { runId } = await env.send({ type: "thread.send", threadId: s, text: "SILENT please" });
    const next = await env.send({ type: "thread.send", threadId: s, text: "after it", provider: { instance: "other", model: null } });
    expect(await env.ended(runId)).toMatchObject({ status: "interrupted", error: { reason: "lease_expired" } });
    expect((await env.ended(next.runId)).status).toBe("completed");
    await expect.poll(() => processesOf(claude)).toEqual([]);
  });

  it("R01 The environment killed in the middle of a turn closes it honestly, and Claude still knows what it was told", async () => {
    const { env, endpoint } = await claudeEnvironment(held("HOLD"));
    const s = await env.newThread();
    await env.say(s, "codeword dunlin");
    const { runId } = await env.send({ type: "thread.send", threadId: s, text: "HOLD on" });
    await until(() => endpoint.about("HOLD").length > 0, "the model's request");
    const again = await env.restart();
    expect((await again.ended(runId)).status).toBe("interrupted");
    expect((await again.say(s, "go on")).status).toBe("completed");
    expect(transcript(endpoint).join("\n")).toContain("codeword dunlin");
  });
});
