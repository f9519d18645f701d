import { execFileSync } from "node:child_process";
import { describe, expect, it, onTestFinished } from "vitest";
import { startEnvironment, type TestEnvironment, until } from "../support/environments.ts";
import { ModelEndpoint, type ModelRule, say, when } from "../support/model-endpoint.ts";
import { RealCodex } from "../support/real-codex.ts";

/** An environment whose agent is the real Codex, with a model on loopback, beside a scripted second provider. */
async function codexEnvironment(...rules: ModelRule[]): Promise<{ env: TestEnvironment; endpoint: ModelEndpoint; codex: RealCodex }> {
  const endpoint = await ModelEndpoint.start(...rules);
  onTestFinished(() => endpoint[Symbol.asyncDispose]());
  const codex = await RealCodex.create(endpoint);
  onTestFinished(() => codex[Symbol.dispose]());
  const env = await startEnvironment({
    scripts: { other: null },
    config: { providers: { codex: codex.config }, defaultProvider: "codex" },
  });
  return { env, endpoint, codex };
}

const lastTranscript = (endpoint: ModelEndpoint) => endpoint.requests.at(-1)?.transcript ?? [];
const conversation = (lines: string[]) => lines.filter((l) => /^(user|assistant): /.test(l) && !l.includes("<environment_context>"));

/** App-server processes of this test's own Codex folder. */
function processesOf(codex: RealCodex): number[] {
  const found = execFileSync("sh", ["-c", `grep -alz "CODEX_HOME=${codex.home}" /proc/[0-9]*/environ 2>/dev/null || true`], {
    encoding: "utf8",
  });
  return found
    .split("\n")
    .filter((l) => l !== "")
    .map((l) => Number(l.split("/")[2]));
}

describe("a real Codex behind the runtime", () => {
  it("F01 A fork at run 1 of 3 shows the model run 1 and nothing of runs 2 and 3, natively", async () => {
    const { env, endpoint } = await codexEnvironment(
      when("ONE", say("first answer")),
      when("TWO", say("second answer")),
      when("THREE", say("third answer")),
    );
    const s = await env.newThread();
    const r1 = await env.say(s, "ONE codeword heron");
    await env.say(s, "TWO");
    await env.say(s, "THREE");
    const { threadId: f, transferId } = await env.send({ type: "thread.fork", threadId: s, at: { kind: "run", runId: r1.id } });
    expect(env.threads.providerThreads(f)).toEqual([]);
    expect(env.transfers.get(transferId)?.status).toBe("pending");
    const run = await env.say(f, "FORKED what was the codeword");
    expect(run.status).toBe("completed");
    expect(env.transfers.history(transferId).map((h) => h.to)).toEqual(["pending", "pending", "resolved_native", "consumed"]);
    expect(conversation(lastTranscript(endpoint))).toEqual([
      "user: ONE codeword heron",
      "assistant: first answer",
      "user: FORKED what was the codeword",
    ]);
    const [source] = env.threads.providerThreads(s);
    const [fork] = env.threads.providerThreads(f);
    expect(fork?.nativeRef.id).not.toBe(source?.nativeRef.id);
    // The source goes on as if nothing had happened.
    await env.say(s, "FOUR");
    expect(conversation(lastTranscript(endpoint))).toContain("assistant: third answer");
  });

  it("F05 A native fork that Codex refuses fails transfer and run, keeps the message, and the next send is retold", async () => {
    const { env: before, endpoint, codex } = await codexEnvironment(when("ONE", say("the answer is plover")));
    const s = await before.newThread();
    await before.say(s, "ONE");
    const { threadId: f, transferId } = await before.send({ type: "thread.fork", threadId: s, at: { kind: "latest_stable" } });
    // What Codex kept of the source is gone: a new process can no longer fork it, and says so.
    const env = await before.restart();
    execFileSync("find", [codex.home, "-name", "rollout-*", "-delete"]);
    const refused = await env.say(f, "FIRST TRY");
    expect(refused).toMatchObject({ status: "failed", acceptedAt: null });
    expect(env.transfers.get(transferId)?.status).toBe("failed");
    expect(
      env.threads.items(f).some((i) => i.body.kind === "user_message" && "text" in i.body.content && i.body.content.text === "FIRST TRY"),
    ).toBe(true);
    const again = await env.say(f, "SECOND TRY");
    expect(again.status).toBe("completed");
    const [, successor] = env.threads.transfers(f).filter((t) => t.type === "fork");
    expect(successor).toMatchObject({ status: "consumed", supersedes: transferId, resolution: { kind: "portable_context" } });
    expect(lastTranscript(endpoint).join("\n")).toContain("the answer is plover");
  });

  it("H10 Away to another provider and back: Codex resumes its own thread and is told exactly what it missed", async () => {
    const { env, endpoint } = await codexEnvironment();
    const s = await env.newThread();
    await env.say(s, "codex one");
    const there = await env.say(s, "missed by codex", { provider: { instance: "other", model: null } });
    expect(there.status).toBe("completed");
    await env.say(s, "codex again", { provider: { instance: "codex", model: null } });
    const told = lastTranscript(endpoint);
    expect(conversation(told).filter((l) => l.includes("codex one"))).toHaveLength(1);
    expect(told.filter((l) => l.includes("missed by codex"))).toHaveLength(1);
    expect(env.threads.providerThreads(s).filter((p) => p.instance === "codex")).toHaveLength(1);
  });

  it("A process killed in the middle of a turn ends its run, and the thread goes on in a new process", async () => {
    const held = Promise.withResolvers<void>();
    onTestFinished(() => held.resolve());
    const { env, codex, endpoint } = await codexEnvironment(when("HOLD", { kind: "later", until: held.promise, reply: say("too late") }));
    const s = await env.newThread();
    await env.say(s, "codeword bittern");
    const { runId } = await env.send({ type: "thread.send", threadId: s, text: "HOLD on" });
    await until(() => endpoint.about("HOLD").length > 0, "the model's request");
    for (const pid of processesOf(codex)) process.kill(pid, "SIGKILL");
    const run = await env.ended(runId);
    expect(run).toMatchObject({ status: "failed", error: { reason: "provider_process_died" } });
    const after = await env.say(s, "still there?");
    expect(after.status).toBe("completed");
    expect(lastTranscript(endpoint).join("\n")).toContain("codeword bittern");
  });

  it.each([
    [401, "provider_unavailable"],
    [429, "provider_unavailable"],
    [400, "orchestration_error"],
  ])("A model that answers %i fails the run with a typed error, and the next message works", async (status, code) => {
    const { env } = await codexEnvironment(when("BROKEN", { kind: "status", status, message: "refused by the test's model" }));
    const s = await env.newThread();
    const run = await env.say(s, "BROKEN");
    expect(run.status).toBe("failed");
    expect([code, "provider_unavailable", "model_unavailable", "invalid_request"]).toContain(run.error?.code);
    expect(run.error?.hint).not.toBe("");
    expect((await env.say(s, "fine again")).status).toBe("completed");
  });

  it("A model that answers nothing at all leaves the run running until it is stopped, and the thread goes on", async () => {
    const { env, endpoint } = await codexEnvironment(when("SILENT", { kind: "silence" }));
    const s = await env.newThread();
    const { runId } = await env.send({ type: "thread.send", threadId: s, text: "SILENT please" });
    await until(() => endpoint.about("SILENT").length > 0, "the model's request");
    expect(env.runs.get(runId)?.status).toBe("running");
    await env.send({ type: "thread.interrupt", threadId: s });
    expect((await env.ended(runId)).status).toBe("interrupted");
    expect((await env.say(s, "and now?")).status).toBe("completed");
  });

  it("R02 A run without any sign of life ends with its lease, and so does what waits behind it get its turn", async () => {
    const endpoint = await ModelEndpoint.start(when("SILENT", { kind: "silence" }));
    onTestFinished(() => endpoint[Symbol.asyncDispose]());
    const codex = await RealCodex.create(endpoint);
    onTestFinished(() => codex[Symbol.dispose]());
    const env = await startEnvironment({
      scripts: { other: null },
      config: { providers: { codex: { ...codex.config, leaseMs: 1_500 } }, defaultProvider: "codex" },
    });
    const s = await env.newThread();
    const { runId } = await env.send({ type: "thread.send", threadId: s, text: "SILENT please" });
    const next = await env.send({ type: "thread.send", threadId: s, text: "after it", provider: { instance: "other", model: null } });
    expect(await env.ended(runId)).toMatchObject({ status: "interrupted", error: { reason: "lease_expired" } });
    expect((await env.ended(next.runId)).status).toBe("completed");
  });

  it("R01 The environment killed in the middle of a turn closes it honestly, and Codex still knows what it was told", async () => {
    const held = Promise.withResolvers<void>();
    onTestFinished(() => held.resolve());
    const { env, endpoint } = await codexEnvironment(when("HOLD", { kind: "later", until: held.promise, reply: say("too late") }));
    const s = await env.newThread();
    await env.say(s, "codeword dunlin");
    const { runId } = await env.send({ type: "thread.send", threadId: s, text: "HOLD on" });
    await until(() => endpoint.about("HOLD").length > 0, "the model's request");
    const again = await env.restart();
    expect((await again.ended(runId)).status).toBe("interrupted");
    expect((await again.say(s, "go on")).status).toBe("completed");
    expect(lastTranscript(endpoint).join("\n")).toContain("codeword dunlin");
  });
});
