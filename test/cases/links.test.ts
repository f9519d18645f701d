import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RequestId, TaskId, ThreadId } from "../../schemas/ids.ts";
import { importThreadId } from "../../schemas/ids.ts";
import { until } from "../support/environments.ts";
import {
  beAtWork,
  expectEachConsumedOnce,
  familyScript,
  goOn,
  parentAtWork,
  resultsFor,
  spawnAsAgent,
  taskEnded,
} from "../support/families.ts";
import { type LinkedSide, type LinkFabric, linked, linkedPair, memoryFabric, natsFabric, settled } from "../support/linked.ts";
import { TestNats } from "../support/nats.ts";
import { messagesOf } from "../support/reading.ts";

let nats: TestNats;
beforeAll(async () => {
  nats = await TestNats.start();
});
afterAll(() => nats.end());

const fabrics: [string, () => LinkFabric][] = [
  ["in this process", memoryFabric],
  ["over a nats-server", () => natsFabric(nats.url)],
];

const family = { scripts: { p1: familyScript } };
const conversation = [
  { role: "user" as const, text: "My ship is the Heliotrope." },
  { role: "assistant" as const, text: "Noted." },
];
const importOf = (handoffId: string, more: Record<string, unknown> = {}) => ({
  handoffId,
  sourceEnvironmentId: "a field of the message",
  sourceThreadId: "the-source",
  messages: conversation,
  ...more,
});

/** Sends an import over the link and waits for what the peer says. */
async function importTo(from: LinkedSide, to: LinkedSide, handoffId: string, more: Record<string, unknown> = {}) {
  const sent = await from.env.send({ type: "link.import", environmentId: to.id, import: importOf(handoffId, more) } as never);
  return {
    ...(sent as { requestId: RequestId; threadId: ThreadId }),
    answer: await answerTo(from, (sent as { requestId: RequestId }).requestId),
  };
}

async function answerTo(side: LinkedSide, requestId: RequestId) {
  const answer = await side.env.links.answer(requestId, { timeoutMs: 20_000 });
  if (answer === null) throw new Error(`${requestId} was not answered`);
  return answer;
}

async function spawnOn(from: LinkedSide, to: LinkedSide, prompt: string, more: Record<string, unknown> = {}) {
  const parentThreadId = await from.env.newThread();
  const { taskId } = await from.env.send({ type: "task.spawn", parentThreadId, prompt, environmentId: to.id, ...more } as never);
  return { parentThreadId, taskId: taskId as TaskId };
}

/** The child of a task of the peer's. */
const childOf = (side: LinkedSide, taskId: TaskId) => side.env.threads.list().find((t) => t.task?.taskId === taskId);
const childRunning = (side: LinkedSide, taskId: TaskId) =>
  until(() => {
    const child = childOf(side, taskId);
    return child !== undefined && side.env.threads.runs(child.id)[0]?.status === "running" && child;
  }, "the child runs");

describe.each(fabrics)("linked %s", (_name, fabric) => {
  test("I04 an import crosses with its history and its continuation; a repeat makes no thread, message, run or turn", async () => {
    const { a, b } = await linkedPair(fabric());
    const wish = { title: "Ships", continuationPrompt: "Which ship?" };
    const first = await importTo(a, b, "h1", wish);
    expect(first.threadId).toBe(importThreadId(a.id, "the-source", "h1"));
    expect(first.answer).toMatchObject({ ok: true, result: { threadId: first.threadId, created: true, continuation: "started" } });
    const [run] = b.env.threads.runs(first.threadId);
    expect((await b.env.ended(run?.id as never)).status).toBe("completed");
    expect(b.env.threads.get(first.threadId)).toMatchObject({
      title: "Ships",
      historyOrigin: "v1_import",
      linkOrigin: { environmentId: a.id, linkId: a.link(b).id },
    });
    expect(b.env.inputs()[0]?.full).toMatch(/^Imported conversation history from before this thread ran here\.\n/);

    const again = await importTo(a, b, "h1", wish);
    expect(again.requestId).not.toBe(first.requestId);
    expect(again.answer).toMatchObject({
      ok: true,
      result: { threadId: first.threadId, created: false, continuation: "already", runId: run?.id },
    });
    expect(messagesOf(b.env, first.threadId)).toHaveLength(4);
    expect(b.env.threads.list()).toHaveLength(1);
    expect(b.env.threads.runs(first.threadId)).toHaveLength(1);
    expect(b.env.inputs()).toHaveLength(1);
    expect(await importTo(a, b, "h1", { ...wish, title: "Boats" })).toMatchObject({
      answer: { ok: false, refusal: { code: "idempotency_conflict" } },
    });
    await settled(a, b);
  });

  test("a thread's conversation is imported at the peer up to its latest stable point, what it inherits included", async () => {
    const { a, b } = await linkedPair(fabric(), { a: family });
    const source = await a.env.newThread({ title: "Ropes" });
    await a.env.say(source, "first");
    const fork = await a.env.send({ type: "thread.fork", threadId: source, at: { kind: "latest_stable" } });
    await a.env.say(fork.threadId, "second");
    // Neither what nobody was told nor what is not finished is part of it.
    const taken = await a.env.send({ type: "thread.send", threadId: fork.threadId, text: "slow to accept" });
    await until(() => a.env.runs.get(taken.runId)?.status === "starting", "it starts");
    await a.env.send({ type: "thread.interrupt", threadId: fork.threadId });
    await a.env.ended(taken.runId);
    await a.env.say(fork.threadId, "third");
    await beAtWork(a.env, fork.threadId);

    const command = { type: "thread.import_to", threadId: fork.threadId, environmentId: b.id, handoffId: "h1" } as const;
    const sent = await a.env.send(command);
    expect(await answerTo(a, sent.requestId)).toMatchObject({
      ok: true,
      result: { created: true, threadId: importThreadId(a.id, fork.threadId, "h1") },
    });
    expect(messagesOf(b.env, sent.threadId)).toEqual(
      ["first", "second", "third"].flatMap((text) => [`user: ${text}`, `assistant: ok: ${text}`]),
    );
    expect(b.env.threads.get(sent.threadId)?.title).toBe("Ropes");
    const again = await a.env.send(command);
    expect(await answerTo(a, again.requestId)).toMatchObject({ ok: true, result: { created: false } });
  });

  test("S06 a task runs at the peer with exactly its words, and exactly one result wakes its parent", async () => {
    const { a, b } = await linkedPair(fabric(), { a: family, b: family });
    const parent = await parentAtWork(a.env);
    const { taskId, childThreadId, requestId } = await spawnAsAgent(a.env, parent, "look there", { title: "look", environmentId: b.id });
    expect(childThreadId).toBeNull();
    expect(await answerTo(a, requestId as RequestId)).toMatchObject({ ok: true });
    expect(await taskEnded(a.env, taskId)).toMatchObject({ status: "completed", childEnvironmentId: b.id, results: 1 });
    const child = childOf(b, taskId);
    expect(child).toMatchObject({
      lineage: { parentThreadId: parent.threadId, parentEnvironmentId: a.id, relationshipToParent: "subagent" },
      linkOrigin: { environmentId: a.id },
      depth: 1,
    });
    expect(a.env.tasks.get(taskId)?.childThreadId).toBe(child?.id);
    expect(b.env.inputs()).toMatchObject([{ full: "look there", context: [] }]);

    await goOn(a.env, parent);
    const wake = await until(
      () => a.env.threads.runs(parent.threadId).find((r) => r.createdBy === "system" && r.endedAt !== null),
      "the wake",
    );
    const results = resultsFor(a.env, parent.threadId);
    expect(results).toMatchObject([{ sourcePoint: { environmentId: b.id }, consumedByRunId: wake.id, outcome: { ending: "completed" } }]);
    expectEachConsumedOnce(a.env, results);
    expect(a.env.inputs().at(-1)?.context).toEqual(['Result of the task "look": completed.\n\nok: look there']);
    await settled(a, b);
  });

  test("S03 a child at the peer that is sent to again gives a second result", async () => {
    const { a, b } = await linkedPair(fabric(), { b: family });
    const { parentThreadId, taskId } = await spawnOn(a, b, "first");
    await taskEnded(a.env, taskId);
    await b.env.say(childOf(b, taskId)?.id as ThreadId, "break down");
    await until(() => resultsFor(a.env, parentThreadId).length === 2, "the second result");
    expect(resultsFor(a.env, parentThreadId).map((t) => t.outcome?.ending)).toEqual(["completed", "failed"]);
  });

  test("S09 cancelling a task at the peer stops its child and the child's own, and is answered by one result", async () => {
    const { a, b } = await linkedPair(fabric(), { b: family });
    const { parentThreadId, taskId } = await spawnOn(a, b, "wait for me");
    const child = await until(() => {
      const c = childOf(b, taskId);
      return c !== undefined && b.env.threads.runs(c.id)[0]?.status === "waiting" && c;
    }, "the child is at work");
    const below = await spawnAsAgent(b.env, { threadId: child.id, runId: child.activeRunId as never }, "hang");
    await until(() => b.env.tasks.get(below.taskId)?.status === "running", "the grandchild runs");
    await until(() => a.env.tasks.get(taskId)?.status === "running", "the parent's side knows");

    await a.env.send({ type: "task.cancel", taskId });
    expect((await taskEnded(a.env, taskId)).status).toBe("cancelled");
    expect((await taskEnded(b.env, below.taskId)).status).toBe("cancelled");
    expect(b.env.threads.get(child.id)?.status).toBe("idle");
    await settled(a, b);
    expect(resultsFor(a.env, parentThreadId)).toMatchObject([{ outcome: { ending: "cancelled" } }]);
    expect(b.env.threads.runs(child.id).map((r) => r.status)).toEqual(["interrupted"]);
  });

  test("I07 a peer that sleeps for a day loses no task: it is seen waiting, and arrives with the peer", async () => {
    const { a, b } = await linkedPair(fabric(), { b: family });
    await importTo(a, b, "before");
    await b.stop();
    const { parentThreadId, taskId } = await spawnOn(a, b, "look");
    const cancelled = await spawnOn(a, b, "never begin");
    await a.env.send({ type: "task.cancel", taskId: cancelled.taskId });
    expect(a.env.tasks.get(taskId)?.status).toBe("requested");
    expect(a.env.tasks.get(cancelled.taskId)?.status).toBe("cancelling");
    expect(a.link(b)).toMatchObject({
      backlog: 3,
      openRequests: [{ kind: "task.spawn", subject: taskId }, { kind: "task.spawn" }, { kind: "task.cancel" }],
    });
    await a.stop();
    await a.start();
    expect(a.link(b).backlog).toBe(3);

    a.ahead = 24 * 3_600_000;
    b.ahead = a.ahead;
    await a.stop();
    await a.start();
    await b.start();
    expect((await taskEnded(a.env, taskId)).status).toBe("completed");
    expect((await taskEnded(a.env, cancelled.taskId)).status).toBe("cancelled");
    await settled(a, b);
    expect(a.link(b).openRequests).toEqual([]);
    expect(resultsFor(a.env, parentThreadId)).toHaveLength(1);
    expect(resultsFor(a.env, cancelled.parentThreadId)).toHaveLength(1);
    expect(b.env.inputs().map((i) => i.message)).toEqual(["look"]);
  });

  test("I07 a result waits at the peer while its parent's side sleeps for a day, and arrives once", async () => {
    const { a, b } = await linkedPair(fabric(), { b: family });
    const { parentThreadId, taskId } = await spawnOn(a, b, "wait for me");
    const child = await until(() => {
      const c = childOf(b, taskId);
      return c !== undefined && b.env.threads.runs(c.id)[0]?.status === "waiting" && c;
    }, "the child is at work");
    await settled(a, b);
    await a.stop();
    await goOn(b.env, { threadId: child.id, runId: child.activeRunId as never });
    expect(b.link(a).backlog).toBe(1);
    await b.stop();
    b.ahead = 24 * 3_600_000;
    await b.start();
    expect(b.link(a).backlog).toBe(1);
    a.ahead = b.ahead;
    await a.start();
    expect((await taskEnded(a.env, taskId)).status).toBe("completed");
    await settled(a, b);
    expect(resultsFor(a.env, parentThreadId)).toHaveLength(1);
    await a.env.say(parentThreadId, "what came of it?");
    expectEachConsumedOnce(a.env, resultsFor(a.env, parentThreadId));
    expect(a.env.inputs().at(-1)?.context).toEqual([expect.stringContaining("went on")]);
  });

  test("I07 a person gives up a task whose peer sleeps: that is its result, and the late answer is kept, shown and never told", async () => {
    const { a, b } = await linkedPair(fabric(), { b: family });
    await settled(a, b).catch(() => {});
    await b.stop();
    const { parentThreadId, taskId } = await spawnOn(a, b, "look");
    expect(
      await a.env.dispatch({ type: "task.dismiss", taskId }, { caller: { kind: "thread", threadId: parentThreadId, runId: null } }),
    ).toMatchObject({
      ok: false,
      refusal: { code: "capability_denied" },
    });
    await a.env.send({ type: "task.dismiss", taskId, reason: "the box is gone" });
    expect(a.env.tasks.get(taskId)).toMatchObject({ status: "interrupted", reason: "dismissed", results: 1 });
    await a.env.say(parentThreadId, "what came of it?");
    const [dismissal] = resultsFor(a.env, parentThreadId);
    expectEachConsumedOnce(a.env, [dismissal as never]);

    await b.start();
    await until(() => (a.env.tasks.get(taskId)?.lateAnswers.length ?? 0) > 0, "the late answer");
    await settled(a, b);
    expect(a.env.tasks.get(taskId)).toMatchObject({
      status: "interrupted",
      reason: "dismissed",
      results: 1,
      lateAnswers: [{ status: "completed", content: { text: "ok: look" } }],
    });
    expect(resultsFor(a.env, parentThreadId)).toEqual([dismissal]);
    await a.env.say(parentThreadId, "and now?");
    expect(a.env.inputs().at(-1)?.context).toEqual([]);
  });

  test("without a grant nothing is taken: a task fails and tells its parent so, an import is refused", async () => {
    const { a, b } = await linkedPair(fabric(), { b: { grants: { a: [{ kind: "read" }] } } });
    const { parentThreadId, taskId } = await spawnOn(a, b, "look");
    expect(await taskEnded(a.env, taskId)).toMatchObject({ status: "failed", error: { code: "capability_denied" } });
    await a.env.say(parentThreadId, "what came of it?");
    expect(a.env.inputs().at(-1)?.context).toEqual([expect.stringContaining("failed")]);
    expect((await importTo(a, b, "h1")).answer).toMatchObject({ ok: false, refusal: { code: "capability_denied" } });
    expect(b.env.threads.list({ includeDeleted: true })).toEqual([]);
    await settled(a, b);
  });

  test("a peer's wish beyond its grant's modes is refused, and without a wish it gets no more than the grant", async () => {
    const maxModes = { runtimeMode: "approval-required", interactionMode: "plan" } as const;
    const { a, b } = await linkedPair(fabric(), {
      b: {
        grants: {
          a: [
            { kind: "threadImport", maxModes },
            { kind: "spawn", maxModes },
          ],
        },
      },
    });
    expect((await importTo(a, b, "h1", { runtimeMode: "auto-accept-edits" })).answer).toMatchObject({
      ok: false,
      refusal: { code: "runtime_mode_escalation_denied" },
    });
    expect((await importTo(a, b, "h2", { interactionMode: "default" })).answer).toMatchObject({
      ok: false,
      refusal: { code: "interaction_mode_escalation_denied" },
    });
    const beyond = await spawnOn(a, b, "look", { runtimeMode: "auto-accept-edits" });
    expect(await taskEnded(a.env, beyond.taskId)).toMatchObject({ status: "failed", error: { code: "runtime_mode_escalation_denied" } });
    expect(b.env.threads.list()).toEqual([]);

    const { threadId } = await importTo(a, b, "h3");
    expect(b.env.threads.get(threadId)?.modes).toEqual(maxModes);
    const within = await spawnOn(a, b, "look");
    await taskEnded(a.env, within.taskId);
    expect(childOf(b, within.taskId)?.modes).toEqual(maxModes);
    expect(b.env.inputs().map((i) => i.modes)).toEqual([maxModes]);
    // Nor may the link broaden later what it started.
    const broaden = (command: object) => b.env.dispatch(command, b.callOf(a));
    expect(await broaden({ type: "thread.send", threadId, text: "go", runtimeMode: "auto-accept-edits" })).toMatchObject({
      ok: false,
      refusal: { code: "runtime_mode_escalation_denied" },
    });
    expect(await broaden({ type: "thread.set_modes", threadId, interactionMode: "default" })).toMatchObject({
      ok: false,
      refusal: { code: "interaction_mode_escalation_denied" },
    });
  });

  test("what a link started carries its stamp through forks and subagents, may change nothing else, and reaches no other link", async () => {
    const { a, b, c } = await linked(fabric(), { a: {}, b: family, c: {} }, [
      ["a", "b"],
      ["b", "c"],
    ]);
    const stamp = { environmentId: a.id, linkId: a.link(b).id };
    const { threadId } = await importTo(a, b, "h1");
    const own = await b.env.newThread();
    await b.env.say(own, "mine");
    const parent = await beAtWork(b.env, threadId);
    const child = await spawnAsAgent(b.env, parent, "look");
    const fork = await b.env.send({ type: "thread.fork", threadId, at: { kind: "latest_stable" } });
    const imported = await b.env.send({ type: "thread.import", import: importOf("local") } as never, {
      caller: { kind: "thread", ...parent },
    });
    const created = await b.env.send({ type: "thread.create" }, { caller: { kind: "thread", ...parent } });
    const stamped = [
      threadId,
      child.childThreadId,
      fork.threadId,
      (imported as { threadId: ThreadId }).threadId,
      created.threadId,
    ] as ThreadId[];
    for (const id of stamped) expect(b.env.threads.get(id)?.linkOrigin).toEqual(stamp);
    expect(b.env.threads.get(own)?.linkOrigin).toBeNull();

    const before = [messagesOf(b.env, own), b.env.threads.get(own)];
    const callers = [b.callOf(a), { caller: { kind: "thread", ...parent } as const }, b.callOf(c)];
    for (const call of callers)
      for (const command of [
        { type: "thread.send", threadId: own, text: "do this" },
        { type: "thread.fork", threadId: own, at: { kind: "latest_stable" } },
        { type: "thread.rename", threadId: own, title: "taken" },
        { type: "thread.set_modes", threadId: own, runtimeMode: "approval-required" },
        { type: "thread.mark", threadId: own, mark: "archived", on: true },
        { type: "thread.switch", threadId: own, provider: { instance: "p1", model: null } },
        { type: "thread.delete", threadId: own },
        { type: "thread.interrupt", threadId: own },
        { type: "task.spawn", parentThreadId: own, prompt: "do this" },
        { type: "thread.import_to", threadId: own, environmentId: c.id, handoffId: "x" },
        { type: "project.add", path: b.dir },
      ])
        expect(await b.env.dispatch(command, call), JSON.stringify([command, call])).toMatchObject({
          ok: false,
          refusal: { code: "capability_denied" },
        });
    expect([messagesOf(b.env, own), b.env.threads.get(own)]).toEqual(before);
    for (const id of stamped)
      expect(await b.env.dispatch({ type: "thread.rename", threadId: id, title: "taken" }, b.callOf(c))).toMatchObject({
        ok: false,
        refusal: { code: "capability_denied" },
      });
    expect(await b.env.dispatch({ type: "thread.rename", threadId: fork.threadId, title: "by its link" }, b.callOf(a))).toMatchObject({
      ok: true,
    });

    // No chaining: neither by its agent, nor by the link itself, nor by a person on its behalf.
    for (const call of [{ caller: { kind: "thread", ...parent } as const }, b.callOf(a), {}])
      for (const command of [
        { type: "task.spawn", parentThreadId: threadId, prompt: "over there", environmentId: c.id },
        { type: "thread.import_to", threadId, environmentId: c.id, handoffId: "x" },
      ])
        expect(await b.env.dispatch(command, call)).toMatchObject({ ok: false, refusal: { code: "capability_denied" } });
    expect(
      await b.env.dispatch({ type: "link.import", environmentId: c.id, import: importOf("x") }, { caller: { kind: "thread", ...parent } }),
    ).toMatchObject({
      ok: false,
      refusal: { code: "capability_denied" },
    });
    expect(b.link(c).sent.number).toBe(0);
    expect(c.env.threads.list()).toEqual([]);
    // Back to where it comes from is no chain.
    expect(
      await b.env.dispatch(
        { type: "task.spawn", parentThreadId: threadId, prompt: "back home", environmentId: a.id },
        { caller: { kind: "thread", ...parent } },
      ),
    ).toMatchObject({ ok: true });
  });

  test("S11 depth is counted across links, so that two environments cannot spawn on each other for ever", async () => {
    const { a, b } = await linkedPair(fabric(), { a: family, b: family });
    let at = await parentAtWork(a.env);
    for (const [here, there] of [
      [a, b],
      [b, a],
      [a, b],
    ] as const) {
      const { taskId } = await spawnAsAgent(here.env, at, "wait for me", { environmentId: there.id });
      const child = await until(() => {
        const c = childOf(there, taskId);
        return c !== undefined && there.env.threads.runs(c.id)[0]?.status === "waiting" && c;
      }, "the child is at work");
      at = { threadId: child.id, runId: child.activeRunId as never };
    }
    const deeper = { type: "task.spawn", parentThreadId: at.threadId, prompt: "deeper", environmentId: a.id };
    expect(await b.env.dispatch(deeper, { caller: { kind: "thread", ...at } })).toMatchObject({
      ok: false,
      refusal: { reason: "limit_exceeded" },
    });
  });

  test("requests beyond the outbox's limit are refused as link_backlogged; cancelling and results never are", async () => {
    const { a, b } = await linkedPair(fabric(), { a: { limits: { linkBacklog: 3 } }, b: { ...family, limits: { linkBacklog: 1 } } });
    const running = await spawnOn(a, b, "hang");
    await childRunning(b, running.taskId);
    await settled(a, b);
    await b.stop();
    const sent = await Promise.all(
      Array.from({ length: 6 }, (_, i) => a.env.dispatch({ type: "link.import", environmentId: b.id, import: importOf(`h${i}`) })),
    );
    expect(sent.filter((r) => r.ok)).toHaveLength(3);
    expect(sent.filter((r) => !r.ok)).toMatchObject(
      Array.from({ length: 3 }, () => ({ refusal: { code: "orchestration_error", reason: "link_backlogged" } })),
    );
    expect(a.link(b)).toMatchObject({ backlog: 3 });
    const parentThreadId = await a.env.newThread();
    const more = { type: "task.spawn", parentThreadId, prompt: "look", environmentId: b.id };
    expect(await a.env.dispatch(more, { id: "cmd:a-client:1" as never })).toMatchObject({
      ok: false,
      refusal: { reason: "link_backlogged" },
    });
    expect(a.env.tasks.list({ parent: parentThreadId })).toEqual([]);
    await a.env.send({ type: "task.cancel", taskId: running.taskId });
    expect(a.link(b).backlog).toBe(4);

    await b.start();
    await settled(a, b);
    expect(b.env.threads.list()).toHaveLength(4);
    expect((await taskEnded(a.env, running.taskId)).endedAt).not.toBeNull();
    // The refusal was of the moment: the same command is taken now.
    expect(await a.env.dispatch(more, { id: "cmd:a-client:1" as never })).toMatchObject({ ok: true });
  });
});

// The fabric in this process carries a smaller one: what it would show beyond that is shown over the server.
test.each([
  ["60 MiB", "over a nats-server", 314, () => natsFabric(nats.url)],
  ["1 MiB", "in this process", 6, memoryFabric],
] as const)(
  "an import of %s crosses %s, beside the messages, and what follows it too",
  { timeout: 240_000 },
  async (_size, _over, count, fabric) => {
    const { a, b } = await linkedPair(fabric());
    const text = (i: number) => `${i} ${"rope ".repeat(40_000)}`.slice(0, 200_000);
    const messages = Array.from({ length: count }, (_, i) => ({ role: i % 2 === 0 ? "user" : "assistant", text: text(i) }));
    const sent = await a.env.send({ type: "link.import", environmentId: b.id, import: importOf("large", { messages }) } as never);
    const { requestId, threadId } = sent as { requestId: RequestId; threadId: ThreadId };
    expect(await a.env.links.answer(requestId, { timeoutMs: 200_000 })).toMatchObject({ ok: true, result: { created: true } });
    const items = b.env.threads.items(threadId);
    expect(items).toHaveLength(count);
    for (const at of [0, Math.floor(count / 2), count - 1]) {
      const body = items[at]?.body;
      const content = body !== undefined && "content" in body ? body.content : { text: "" };
      const whole =
        "text" in content ? content.text : new TextDecoder().decode(b.env.threads.blob(content.blob.digest) ?? new Uint8Array());
      expect(whole).toBe(text(at));
    }
    await until(() => a.link(b).backlog === 0, "it is receipted", 60_000);
    expect((await importTo(a, b, "small, after it")).answer).toMatchObject({ ok: true });
  },
);
