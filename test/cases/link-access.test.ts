import { describe, expect, test } from "vitest";
import type { RequestId, ThreadId } from "../../schemas/ids.ts";
import { until } from "../support/environments.ts";
import { asAgent, beAtWork, familyScript, parentAtWork, spawnAsAgent, taskEnded } from "../support/families.ts";
import { answerTo, childOf, importOf, importTo, spawnOn } from "../support/link-talk.ts";
import { bothFabrics, linked, linkedPair, settled } from "../support/linked.ts";
import { messagesOf } from "../support/reading.ts";

const fabrics = bothFabrics();

const family = { scripts: { p1: familyScript } };

describe.each(fabrics)("what a link may do, %s", (_name, fabric) => {
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

  test("an agent's import at a peer gets no more there than the agent has here", async () => {
    const { a, b } = await linkedPair(fabric(), { a: family });
    const parent = await parentAtWork(a.env, { runtimeMode: "approval-required" });
    const ask = (handoffId: string, more: Record<string, unknown> = {}) =>
      a.env.dispatch({ type: "link.import", environmentId: b.id, import: importOf(handoffId, more) }, asAgent(parent));
    expect(await ask("h1", { runtimeMode: "auto-accept-edits" })).toMatchObject({
      ok: false,
      refusal: { code: "runtime_mode_escalation_denied" },
    });
    const asked = await ask("h2");
    if (!asked.ok) throw new Error(asked.refusal.message);
    expect(await answerTo(a, asked.result.requestId as RequestId)).toMatchObject({ ok: true });
    expect(b.env.threads.list().map((t) => t.modes.runtimeMode)).toEqual(["approval-required"]);
    await settled(a, b);
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
});
