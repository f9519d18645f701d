import { describe, expect, test } from "vitest";
import type { MoveId, ThreadId } from "../../schemas/ids.ts";
import { importThreadId } from "../../schemas/ids.ts";
import { broadestModes } from "../../schemas/modes.ts";
import type { Move } from "../../schemas/move.ts";
import type { TestEnvironment } from "../support/environments.ts";
import { until } from "../support/environments.ts";
import { allGrants, bothFabrics, type LinkedSide, linkedPair, settled } from "../support/linked.ts";

/** Says `held` until it is answered, hangs on `hang`, and else repeats what it was given. */
const script = {
  rules: [
    { match: { contains: "hang" }, steps: [{ hang: true }] },
    { match: { regex: ".*" }, steps: [{ text: "heard" }] },
  ],
};
const sides = { a: { scripts: { p1: script, p2: script } }, b: { scripts: { p1: script, p2: script } } };

async function moved(side: LinkedSide, moveId: MoveId): Promise<Move> {
  const move = await side.env.moves.wait(moveId, { timeoutMs: 20_000 });
  if (move?.endedAt == null) throw new Error(`${moveId} was not decided: ${JSON.stringify(move)}`);
  return move;
}

async function move(from: LinkedSide, to: LinkedSide, threadId: ThreadId, more: Record<string, unknown> = {}): Promise<Move> {
  const { moveId } = await from.env.send({ type: "thread.move", threadId, environmentId: to.id, ...more });
  return moved(from, moveId);
}

const said = (env: TestEnvironment, id: ThreadId): string[] =>
  env.threads.items(id).flatMap(({ body }) => ("content" in body && "text" in body.content ? [body.content.text] : []));
const messages = (env: TestEnvironment, id: ThreadId): string[] =>
  env.threads
    .items(id)
    .flatMap(({ body }) =>
      (body.kind === "user_message" || body.kind === "assistant_message") && "text" in body.content ? [body.content.text] : [],
    );

const refusalOf = async (env: TestEnvironment, command: unknown) => {
  const receipt = await env.dispatch(command);
  return receipt.ok ? null : receipt.refusal;
};

describe.each(bothFabrics())("a move (%s)", (_name, fabric) => {
  test("takes the conversation there in order and goes on there; here it can only be read, with where it is now", async () => {
    const { a, b } = await linkedPair(fabric(), sides);
    const threadId = await a.env.newThread({ title: "Release" });
    await a.env.say(threadId, "one");
    await a.env.say(threadId, "two");
    const decided = await move(a, b, threadId, { continuationPrompt: "three" });
    expect(decided).toMatchObject({
      status: "departed",
      environmentId: b.id,
      targetThreadId: importThreadId(a.id, threadId, decided.id),
      error: null,
    });
    const there = b.env.threads.get(decided.targetThreadId)!;
    expect(there).toMatchObject({
      title: "Release",
      movedFrom: { environmentId: a.id, threadId, moveId: decided.id },
      linkOrigin: { environmentId: a.id },
    });
    const run = b.env.threads.runs(there.id)[0]!;
    await b.env.ended(run.id);
    expect(messages(b.env, there.id)).toEqual(["one", "heard", "two", "heard", "three", "heard"]);
    expect(b.env.inputs("p1").at(-1)!.context.join("\n")).toContain("Imported conversation history from before this thread ran here.");

    expect(a.env.threads.get(threadId)).toMatchObject({
      status: "departed",
      departed: { environmentId: b.id, threadId: there.id, moveId: decided.id },
    });
    expect(messages(a.env, threadId)).toEqual(["one", "heard", "two", "heard"]);
  });

  test("I06: whatever would change a departed thread is refused with where to go on; it is read, archived and deleted as any other", async () => {
    const { a, b } = await linkedPair(fabric(), sides);
    const threadId = await a.env.newThread();
    const run = await a.env.say(threadId, "one");
    const fork = await a.env.send({ type: "thread.fork", threadId, at: { kind: "latest_stable" } });
    await a.env.say(fork.threadId, "of the fork");
    const { targetThreadId } = await move(a, b, threadId);
    const commands = [
      { type: "thread.send", threadId, text: "more" },
      { type: "thread.fork", threadId, at: { kind: "run", runId: run.id } },
      { type: "thread.switch", threadId, provider: { instance: "p2", model: null } },
      { type: "thread.merge_back", threadId: fork.threadId },
      { type: "thread.rename", threadId, title: "x" },
      { type: "thread.set_modes", threadId, interactionMode: "plan" },
      { type: "thread.undo", threadId },
      { type: "thread.interrupt", threadId },
      { type: "thread.mark", threadId, mark: "pinned", on: true },
      { type: "task.spawn", parentThreadId: threadId, prompt: "x" },
      { type: "thread.move", threadId, environmentId: b.id },
      { type: "thread.import_to", threadId, environmentId: b.id, handoffId: "x" },
    ];
    for (const command of commands)
      expect([command.type, await refusalOf(a.env, command)]).toMatchObject([
        command.type,
        { code: "thread_departed", details: { environmentId: b.id, threadId: targetThreadId } },
      ]);
    // The fork goes on with what it inherits.
    expect(messages(a.env, fork.threadId)).toEqual(["one", "heard", "of the fork", "heard"]);
    await a.env.say(fork.threadId, "again");
    await a.env.send({ type: "thread.mark", threadId, mark: "archived", on: true });
    await a.env.send({ type: "thread.mark", threadId, mark: "archived", on: false });
    await a.env.send({ type: "thread.delete", threadId, keepForks: true });
    expect(a.env.threads.get(threadId)).toMatchObject({ status: "deleted" });
  });

  test("I03: waits for a turn that does not end, and is never departing meanwhile; a newer message of a person takes it back", async () => {
    const { a, b } = await linkedPair(fabric(), sides);
    const threadId = await a.env.newThread();
    const first = await a.env.send({ type: "thread.send", threadId, text: "hang" });
    await until(() => a.env.runs.get(first.runId)?.status === "running", "the run to hang");
    const { moveId } = await a.env.send({ type: "thread.move", threadId, environmentId: b.id });
    await until(() => a.env.threads.get(threadId)?.moving === moveId, "the peer to agree");
    await settled(a, b);
    expect(a.env.moves.get(moveId)).toMatchObject({ status: "pending", waitsFor: "turn" });
    const newer = await a.env.send({ type: "thread.send", threadId, text: "newer" });
    expect(a.env.moves.get(moveId)).toMatchObject({ status: "failed", error: { reason: "cancelled" } });
    await a.env.send({ type: "thread.interrupt", threadId, runId: first.runId });
    expect(await a.env.ended(newer.runId)).toMatchObject({ status: "completed" });
    expect(a.env.threads.get(threadId)).toMatchObject({ status: "idle", moving: null });
    expect(b.env.threads.list()).toEqual([]);
  });

  test("what is queued travels in its order, and goes on there with the agent that each message named", async () => {
    const { a, b } = await linkedPair(fabric(), sides);
    const threadId = await a.env.newThread();
    await a.env.say(threadId, "one");
    const first = await a.env.send({ type: "thread.send", threadId, text: "hang" });
    const second = await a.env.send({ type: "thread.send", threadId, text: "two", provider: { instance: "p2", model: null } });
    await a.env.send({ type: "thread.send", threadId, text: "three" });
    const { moveId } = await a.env.send({ type: "thread.move", threadId, environmentId: b.id, continuationPrompt: "four" });
    await until(() => a.env.threads.get(threadId)?.moving === moveId, "the peer to agree");
    await a.env.send({ type: "thread.interrupt", threadId, runId: first.runId });
    const { targetThreadId } = await moved(a, moveId);
    await until(() => b.env.threads.get(targetThreadId)?.status === "idle", "all of it to be answered there");
    expect(b.env.threads.runs(targetThreadId).map((run) => [run.status, run.provider?.instance])).toEqual([
      ["completed", "p2"],
      ["completed", "p2"],
      ["completed", "p2"],
    ]);
    expect(messages(b.env, targetThreadId)).toEqual(["one", "heard", "hang", "two", "heard", "three", "heard", "four", "heard"]);
    expect(a.env.runs.get(second.runId)).toMatchObject({ status: "interrupted", interruptReason: "moved", acceptedAt: null });
    expect(a.env.threads.get(threadId)).toMatchObject({ status: "departed", queue: [] });
  });

  test("waits for its subagents, and takes along what they found", async () => {
    const { a, b } = await linkedPair(fabric(), sides);
    const threadId = await a.env.newThread();
    await a.env.say(threadId, "one");
    const task = await a.env.send({ type: "task.spawn", parentThreadId: threadId, prompt: "hang", title: "dig" });
    const { moveId } = await a.env.send({ type: "thread.move", threadId, environmentId: b.id });
    await until(() => a.env.moves.get(moveId)?.waitsFor === "children", "the move to wait for the child");
    await a.env.send({ type: "task.cancel", taskId: task.taskId });
    const { targetThreadId } = await moved(a, moveId);
    expect(messages(b.env, targetThreadId)).toEqual(["one", "heard", expect.stringContaining('Result of the task "dig": cancelled')]);
    const results = a.env.transfers.list({ target: threadId }).filter((t) => t.type === "subagent_result");
    expect(results.map((t) => t.status)).toEqual(["superseded"]);
  });

  test("a fork that never ran takes along what it inherits; what it would have been told is told there", async () => {
    const { a, b } = await linkedPair(fabric(), sides);
    const threadId = await a.env.newThread();
    await a.env.say(threadId, "one");
    const fork = await a.env.send({ type: "thread.fork", threadId, at: { kind: "latest_stable" } });
    const { targetThreadId } = await move(a, b, fork.threadId, { continuationPrompt: "two" });
    await until(() => b.env.threads.get(targetThreadId)?.status === "idle", "the continuation to end");
    expect(messages(b.env, targetThreadId)).toEqual(["one", "heard", "two", "heard"]);
    expect(b.env.inputs("p1").at(-1)!.context.join("\n")).toContain("one");
    expect(a.env.transfers.get(fork.transferId)).toMatchObject({ status: "superseded" });
  });

  test("before departing, all that the other side lacks is said at once, and the thread goes on here", async () => {
    const grants = { a: allGrants.filter((grant) => grant.kind !== "move") };
    const { a, b } = await linkedPair(fabric(), { a: sides.a, b: { scripts: { p2: null }, grants } });
    const threadId = await a.env.newThread({ provider: { instance: "p1", model: null } });
    await a.env.say(threadId, "one");
    const decided = await move(a, b, threadId);
    expect(decided).toMatchObject({ status: "failed", departingAt: null, error: { code: "invalid_request", reason: "peer_lacks" } });
    expect(decided.lacks.map((lack) => lack.what)).toEqual(["grant", "agent"]);
    expect(await a.env.say(threadId, "two")).toMatchObject({ status: "completed" });
    expect(b.env.threads.list()).toEqual([]);
  });

  test("comes home with a new name, the peer's stamp and the lower of both modes", async () => {
    const { a, b } = await linkedPair(fabric(), sides);
    const threadId = await a.env.newThread({ runtimeMode: "auto" });
    await a.env.say(threadId, "one");
    const away = await move(a, b, threadId, { continuationPrompt: "two" });
    await until(() => b.env.threads.get(away.targetThreadId)?.status === "idle", "the continuation to end");
    await b.env.send({ type: "thread.set_modes", threadId: away.targetThreadId, runtimeMode: "full-access", interactionMode: "plan" });
    const home = await move(b, a, away.targetThreadId);
    expect(home).toMatchObject({ status: "departed", environmentId: a.id });
    expect(a.env.threads.get(home.targetThreadId)).toMatchObject({
      linkOrigin: { environmentId: b.id },
      movedFrom: { environmentId: b.id, threadId: away.targetThreadId },
      modes: { runtimeMode: "auto", interactionMode: "plan" },
    });
    expect(messages(a.env, home.targetThreadId)).toEqual(["one", "heard", "two", "heard"]);
    expect(await a.env.say(home.targetThreadId, "three")).toMatchObject({ status: "completed" });
    expect(a.env.threads.get(threadId)).toMatchObject({ status: "departed" });
  });

  test("never has more there than the grant gives", async () => {
    const narrow = { runtimeMode: "approval-required", interactionMode: "plan" } as const;
    const { a, b } = await linkedPair(fabric(), { a: sides.a, b: { ...sides.b, grants: { a: [{ kind: "move", maxModes: narrow }] } } });
    const threadId = await a.env.newThread(broadestModes);
    await a.env.say(threadId, "one");
    const { targetThreadId } = await move(a, b, threadId, { continuationPrompt: "two" });
    expect(b.env.threads.get(targetThreadId)!.modes).toEqual(narrow);
    expect(b.env.threads.runs(targetThreadId)[0]!.modes).toEqual(narrow);
  });

  test("I07: a peer that sleeps leaves it pending, then departing, visibly; it is decided when the peer wakes", async () => {
    const { a, b } = await linkedPair(fabric(), sides);
    const threadId = await a.env.newThread();
    await a.env.say(threadId, "one");
    await settled(a, b);
    await b.stop();
    const { moveId } = await a.env.send({ type: "thread.move", threadId, environmentId: b.id });
    expect(a.env.moves.get(moveId)).toMatchObject({ status: "pending", waitsFor: "peer" });
    expect(a.link(b).openRequests).toMatchObject([{ kind: "move.preflight", subject: moveId }]);
    await b.start();
    const { targetThreadId } = await moved(a, moveId);
    expect(messages(b.env, targetThreadId)).toEqual(["one", "heard"]);
  });

  test("what comes for it after it has moved is sent on, once, and told there with the next run", async () => {
    const { a, b } = await linkedPair(fabric(), sides);
    const threadId = await a.env.newThread();
    await a.env.say(threadId, "one");
    const task = await a.env.send({ type: "task.spawn", parentThreadId: threadId, prompt: "dig" });
    await a.env.tasks.wait(task.taskId);
    const { targetThreadId } = await move(a, b, threadId);
    // The child is asked once more: another run, another result (case S03), for a parent that has gone.
    await a.env.say(task.childThreadId!, "and deeper");
    const late = () => b.env.transfers.list({ target: targetThreadId }).filter((t) => t.type === "subagent_result");
    await until(() => late().length > 0, "the late result to arrive");
    const run = await b.env.say(targetThreadId, "two");
    expect(run.status).toBe("completed");
    expect(b.env.inputs("p1").at(-1)!.context.join("\n")).toContain("heard");
    await settled(a, b);
    expect(late().map((t) => t.status)).toEqual(["consumed"]);
    expect(a.env.transfers.list({ target: threadId }).every((t) => t.status === "consumed" || t.status === "superseded")).toBe(true);
  });

  test("a subagent's thread stays with its task, and a thread does not move to where it is", async () => {
    const { a, b } = await linkedPair(fabric(), sides);
    const threadId = await a.env.newThread();
    const task = await a.env.send({ type: "task.spawn", parentThreadId: threadId, prompt: "dig" });
    await a.env.tasks.wait(task.taskId);
    expect(await refusalOf(a.env, { type: "thread.move", threadId: task.childThreadId, environmentId: b.id })).toMatchObject({
      reason: "works_for_another",
    });
    expect(await refusalOf(a.env, { type: "thread.move", threadId, environmentId: a.id })).toMatchObject({ reason: "same_environment" });
    const { moveId } = await a.env.send({ type: "thread.move", threadId, environmentId: b.id });
    await a.env.dispatch({ type: "thread.move", threadId, environmentId: b.id });
    expect(await moved(a, moveId)).toMatchObject({ status: "departed" });
    expect(b.env.threads.list()).toHaveLength(1);
    expect(said(b.env, b.env.threads.list()[0]!.id).length).toBeGreaterThan(0);
  });
});
