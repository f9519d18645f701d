import { describe, expect, test } from "vitest";
import type { RequestId, ThreadId } from "../../schemas/ids.ts";
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
import { answerTo, childOf, childRunning, importOf, importTo, spawnOn } from "../support/link-talk.ts";
import { bothFabrics, linkedPair, memoryFabric, settled } from "../support/linked.ts";
import { messagesOf } from "../support/reading.ts";

const fabrics = bothFabrics();

const family = { scripts: { p1: familyScript } };

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
  ["60 MiB", "over a nats-server", 314, fabrics[1][1]],
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
