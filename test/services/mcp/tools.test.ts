import { describe, expect, test } from "vitest";
import { listing, tools } from "../../../services/mcp/catalogue.ts";
import { until } from "../../support/environments.ts";
import { messagesOf } from "../../support/reading.ts";
import { clientCaller, fresh, type Loose, startMcp } from "./rig.ts";

const eras = ["legacy", "modern"] as const;

describe.each(eras)("over the %s revision of the protocol", (era) => {
  test("a client finds every tool, with its shapes and its hints", async () => {
    const rig = await startMcp();
    const client = await rig.connect(rig.let(clientCaller()), { era });
    const { tools: listed } = await client.listTools();
    expect(listed.map((tool) => tool.name).sort()).toEqual(tools.map((tool) => tool.name).sort());
    for (const tool of listed) {
      expect(tool.description, tool.name).toMatch(/\S/);
      expect(tool.inputSchema, tool.name).toMatchObject({ type: "object", additionalProperties: false });
      expect(tool.outputSchema, tool.name).toMatchObject({ type: "object" });
      expect(Object.keys(tool.annotations ?? {}).sort(), tool.name).toEqual([
        "destructiveHint",
        "idempotentHint",
        "openWorldHint",
        "readOnlyHint",
      ]);
    }
    expect(client.getServerVersion()).toMatchObject({ name: "ropewalk", version: "9.9.9" });
    expect(client.getInstructions()).toContain("clientRequestId");
  });

  test("a thread is launched, waited for and read", async () => {
    const rig = await startMcp();
    const client = await rig.connect(rig.let(clientCaller()), { era });
    await client.listTools();
    const launched = await client.use("t3_thread_launch", { prompt: "Splice the rope.", title: "Splicing", clientRequestId: fresh() });
    expect(launched).toMatchObject({ repeated: false });
    const waited = await client.use("t3_thread_wait", { threadId: launched.threadId, runId: launched.runId });
    expect(waited).toMatchObject({
      runId: launched.runId,
      ended: true,
      status: "completed",
      answer: expect.stringContaining("Splice"),
      failure: null,
    });
    const read = await client.use("t3_thread_read", { threadId: launched.threadId });
    expect(read.thread).toMatchObject({ title: "Splicing", runs: 1, status: "idle" });
    expect(read.items.map((item: { kind: string }) => item.kind)).toEqual(["assistant_message", "user_message"]);
    expect(read.nextCursor).toBeNull();
    const { threads } = await client.use("t3_thread_list");
    expect(threads.map((thread: { threadId: string }) => thread.threadId)).toEqual([launched.threadId]);
    expect(rig.errors).toEqual([]);
  });

  test("a refusal is a structured answer with code, reason and hint", async () => {
    const rig = await startMcp();
    const client = await rig.connect(rig.let(clientCaller()), { era });
    // With the list known, the client holds every answer against its schema, refusals too.
    await client.listTools();
    const nobody = "thread:0197f000-0000-7000-8000-000000000001";
    expect(await client.refused("t3_thread_send", { threadId: nobody, text: "hello", clientRequestId: fresh() })).toMatchObject({
      code: "thread_not_found",
      reason: "unknown_thread",
      hint: expect.stringMatching(/\S/),
    });
    expect(await client.refused("t3_thread_wait", { threadId: nobody })).toMatchObject({ code: "thread_not_found" });
    expect(await client.refused("t3_thread_read", { threadId: "thread:1" })).toMatchObject({
      code: "invalid_request",
      reason: "malformed",
    });
    expect(await client.refused("t3_thread_list", { surprise: 1 })).toMatchObject({ code: "invalid_request", reason: "malformed" });
    expect(await client.refused("task_status", { taskId: "task:0197f000-0000-7000-8000-000000000001" })).toMatchObject({
      code: "task_not_found",
    });
    expect(await client.refused("t3_thread_launch", { prompt: "go", model: "some", clientRequestId: fresh() })).toMatchObject({
      code: "invalid_request",
      reason: "model_without_provider",
    });
    expect(await client.refused("t3_thread_launch", { prompt: "go", provider: "p9", clientRequestId: fresh() })).toMatchObject({
      code: "provider_unavailable",
      reason: "unknown_instance",
      hint: expect.stringContaining("p1"),
    });
    await expect(client.use("no_such_tool")).rejects.toThrow(/no tool no_such_tool/);
  });
});

test("a fork inherits by reference, is marked so, and goes back to its parent", async () => {
  const rig = await startMcp();
  const client = await rig.connect(rig.let(clientCaller()));
  const { threadId, runId } = await client.use("t3_thread_launch", { prompt: "one", clientRequestId: fresh() });
  await client.use("t3_thread_wait", { threadId, runId });
  const fork = await client.use("t3_thread_fork", { threadId, title: "aside", clientRequestId: fresh() });
  const inherited = await client.use("t3_thread_read", { threadId: fork.threadId, messagesOnly: true, oldestFirst: true });
  expect(inherited.items.map((item: Loose) => [item.text.slice(0, 3), item.inherited])).toEqual([
    ["one", true],
    ["ok:", true],
  ]);
  expect(await client.use("t3_thread_list", { parentThreadId: threadId })).toMatchObject({
    threads: [{ threadId: fork.threadId, relationshipToParent: "fork", title: "aside" }],
  });
  expect(await client.refused("t3_thread_merge_back", { threadId: fork.threadId, clientRequestId: fresh() })).toMatchObject({
    code: "invalid_request",
    reason: "no_stable_point",
  });
  const sent = await client.use("t3_thread_send", { threadId: fork.threadId, text: "two", clientRequestId: fresh() });
  expect(sent).toMatchObject({ ordinal: 1 });
  await client.use("t3_thread_wait", { threadId: fork.threadId, runId: sent.runId });
  const merged = await client.use("t3_thread_merge_back", { threadId: fork.threadId, clientRequestId: fresh() });
  expect(merged).toMatchObject({ into: threadId, supersedes: null });
  const { transfers } = await client.use("t3_thread_transfers", { threadId: fork.threadId });
  expect(transfers.map((t: Loose) => [t.type, t.status])).toEqual([
    ["merge_back", "pending"],
    ["fork", "consumed"],
  ]);
  const at = await client.use("t3_thread_fork", { threadId, runId, clientRequestId: fresh() });
  expect(rig.env.transfers.get(at.transferId)?.sourcePoint).toMatchObject({ givenAs: "run", runId });
  expect(
    await client.refused("t3_thread_fork", {
      threadId,
      runId,
      checkpointId: "checkpoint:0197f000-0000-7000-8000-000000000001",
      clientRequestId: fresh(),
    }),
  ).toMatchObject({ code: "invalid_request", reason: "two_points" });
});

test("naming another provider hands the conversation over, and the handoff can be read", async () => {
  const rig = await startMcp({ scripts: { p1: null, p2: null } });
  const client = await rig.connect(rig.let(clientCaller()));
  const { threadId, runId } = await client.use("t3_thread_launch", { prompt: "the codeword is tarred hemp", clientRequestId: fresh() });
  await client.use("t3_thread_wait", { threadId, runId });
  const sent = await client.use("t3_thread_send", { threadId, text: "and now?", provider: "p2", clientRequestId: fresh() });
  await client.use("t3_thread_wait", { threadId, runId: sent.runId });
  const { transfers } = await client.use("t3_thread_transfers", { threadId });
  expect(transfers).toMatchObject([{ type: "provider_handoff", status: "consumed", resolution: "portable_context", leftOut: 0 }]);
  const { contents } = await client.readResource({ uri: `ropewalk://handoff/${transfers[0].handoffId}` });
  expect(contents[0]).toMatchObject({ mimeType: "text/plain", text: expect.stringContaining("tarred hemp") });
  expect(JSON.parse((contents[1] as { text: string }).text)).toMatchObject({ transferId: transfers[0].transferId, leftOut: [] });
  expect((await client.use("t3_thread_list")).threads[0]).toMatchObject({ provider: "p2" });
});

test("a run is stopped, with what waits behind it", async () => {
  const rig = await startMcp({ scripts: { p1: { rules: [{ match: { contains: "hang" }, steps: [{ hang: true }] }] } } });
  const client = await rig.connect(rig.let(clientCaller()));
  const { threadId, runId } = await client.use("t3_thread_launch", { prompt: "hang", clientRequestId: fresh() });
  await until(() => rig.env.runs.get(runId)?.status === "running");
  const queued = await client.use("t3_thread_send", { threadId, text: "next", clientRequestId: fresh() });
  const stopped = await client.use("t3_thread_interrupt", { threadId, reason: "enough", clientRequestId: fresh() });
  expect(stopped).toMatchObject({ runIds: [queued.runId, runId], cancelledTasks: [] });
  expect(await client.use("t3_thread_wait", { threadId, runId })).toMatchObject({ status: "interrupted", ended: true, answer: null });
  expect(await client.refused("t3_thread_interrupt", { threadId, clientRequestId: fresh() })).toMatchObject({
    code: "thread_not_interruptible",
  });
});

test("an agent delegates a task, sees its result, and cancels another", async () => {
  const rig = await startMcp({
    scripts: {
      p1: {
        rules: [
          { match: { contains: "work" }, steps: [{ hang: true }] },
          { match: { contains: "count" }, steps: [{ text: "there are 7" }] },
          { match: { contains: "stay" }, steps: [{ hang: true }] },
        ],
      },
    },
  });
  const parent = await rig.env.newThread();
  const { runId } = await rig.env.send({ type: "thread.send", threadId: parent, text: "work" });
  await until(() => rig.env.runs.get(runId)?.status === "running");
  const agent = await rig.connect(rig.tokens.make({ threadId: parent, instance: "p1" }));
  const given = await agent.use("delegate_task", { prompt: "count the strands", handedOver: "a rope", clientRequestId: fresh() });
  expect(given).toMatchObject({ repeated: false, childThreadId: expect.stringMatching(/^thread:/) });
  expect(rig.env.tasks.get(given.taskId)).toMatchObject({ spawnedBy: "agent", parentThreadId: parent, parentRunId: runId });
  expect(await agent.use("task_status", { taskId: given.taskId, waitSeconds: 20 })).toMatchObject({
    tasks: [{ taskId: given.taskId, status: "completed", ended: true, result: "there are 7" }],
  });
  const { contents } = await agent.readResource({ uri: `ropewalk://task/${given.taskId}/result` });
  expect(contents).toMatchObject([{ text: "there are 7" }]);
  const other = await agent.use("delegate_task", { prompt: "stay", clientRequestId: fresh() });
  expect((await agent.use("task_status")).tasks.map((task: { taskId: string }) => task.taskId)).toEqual([other.taskId, given.taskId]);
  expect(await agent.use("task_cancel", { taskId: other.taskId, clientRequestId: fresh() })).toMatchObject({ cancelled: [other.taskId] });
  expect(await agent.use("task_status", { taskId: other.taskId, waitSeconds: 20 })).toMatchObject({ tasks: [{ status: "cancelled" }] });
  expect(await agent.refused("task_cancel", { taskId: given.taskId, clientRequestId: fresh() })).toMatchObject({
    code: "task_not_cancellable",
  });
});

test("a client's task waits for its parent's next message; only an agent's own wakes it", async () => {
  const rig = await startMcp();
  const client = await rig.connect(rig.let(clientCaller()));
  expect(await client.refused("delegate_task", { prompt: "count", clientRequestId: fresh() })).toMatchObject({
    code: "invalid_request",
    reason: "no_parent",
  });
  const parentThreadId = await rig.env.newThread();
  const { taskId } = await client.use("delegate_task", { prompt: "count", parentThreadId, clientRequestId: fresh() });
  await client.use("task_status", { taskId, waitSeconds: 20 });
  expect(rig.env.tasks.get(taskId)).toMatchObject({ spawnedBy: "user", status: "completed" });
  expect(rig.env.threads.get(parentThreadId)).toMatchObject({ wakesOnResult: false, lastOrdinal: 0 });
});

test("an agent may delegate only while its own run is under way", async () => {
  const rig = await startMcp();
  const threadId = await rig.env.newThread();
  await rig.env.say(threadId, "hello");
  const agent = await rig.connect(rig.tokens.make({ threadId, instance: "p1" }));
  expect(await agent.refused("delegate_task", { prompt: "count", clientRequestId: fresh() })).toMatchObject({ code: "parent_not_active" });
});

test("the capabilities tell who calls, what it may, and what is here", async () => {
  const rig = await startMcp();
  const threadId = await rig.env.newThread({ runtimeMode: "auto", interactionMode: "plan" });
  const agent = await rig.connect(rig.tokens.make({ threadId, instance: "p1" }));
  expect(await agent.use("orchestrator_capabilities")).toMatchObject({
    environment: { id: rig.env.id, name: "test" },
    caller: { kind: "thread", threadId, modes: { runtimeMode: "auto", interactionMode: "plan" } },
    capabilities: { threadImport: true },
    providers: [{ provider: "p1", kind: "scripted" }, { provider: "p2" }],
    projects: [{ name: "scratch" }],
    limits: { importMessages: 2_000 },
  });
  const reader = await rig.connect(rig.let(clientCaller({ access: ["reads"] })));
  expect(await reader.use("orchestrator_capabilities")).toMatchObject({
    caller: { kind: "client", threadId: null, modes: { runtimeMode: "full-access" }, access: ["reads"] },
    capabilities: { threadImport: false, delegateTask: false },
  });
  expect(await reader.use("t3_environment_links")).toEqual({ links: [] });
});

test("every answer has the shape that its tool declares", () => {
  for (const profile of ["small", "full"] as const)
    for (const tool of listing(profile)) {
      const declared = tools.find(({ name }) => name === tool.name);
      const members = Object.keys(declared?.output.shape ?? {});
      expect(Object.keys(tool.outputSchema.properties as object), tool.name).toEqual(expect.arrayContaining(members));
    }
});

test("what a person is asked is told to whoever waits", async () => {
  const rig = await startMcp({
    scripts: { p1: { rules: [{ match: {}, steps: [{ approval: { text: "may I cut it?" } }, { text: "cut" }] }] } },
  });
  const client = await rig.connect(rig.let(clientCaller()));
  const { threadId, runId } = await client.use("t3_thread_launch", { prompt: "cut it", clientRequestId: fresh() });
  const waiting = await client.use("t3_thread_wait", { threadId, runId, waitSeconds: 20 });
  expect(waiting).toMatchObject({ ended: false, status: "waiting", asks: [{ text: "may I cut it?" }] });
  await rig.env.send({ type: "run.answer", runId, requestId: waiting.asks[0].requestId, answer: "accept" });
  expect(await client.use("t3_thread_wait", { threadId, runId, waitSeconds: 20 })).toMatchObject({ ended: true, answer: "cut" });
  expect(messagesOf(rig.env, threadId)).toEqual(["user: cut it", "assistant: cut"]);
});
