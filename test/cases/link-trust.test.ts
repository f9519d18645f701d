import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { RequestId, ThreadId } from "../../schemas/ids.ts";
import { until } from "../support/environments.ts";
import { familyScript, resultsFor, taskEnded } from "../support/families.ts";
import { answerTo, childOf, importOf, importTo, spawnOn } from "../support/link-talk.ts";
import { allGrants, bothFabrics, type LinkedSide, linkedPair, settled } from "../support/linked.ts";

const fabrics = bothFabrics();
const family = { scripts: { p1: familyScript } };

/** Asks for an import and does not wait for what the peer says. */
const ask = async (from: LinkedSide, to: LinkedSide, handoffId: string) =>
  (await from.env.send({ type: "link.import", environmentId: to.id, import: importOf(handoffId) })) as {
    requestId: RequestId;
    threadId: ThreadId;
  };
const configured = (side: LinkedSide) => JSON.parse(readFileSync(join(side.dir, "config.json"), "utf8")).links;
const isAtWork = (side: LinkedSide, threadId: ThreadId) => side.env.threads.runs(threadId)[0]?.status === "waiting";

describe.each(fabrics)("a person decides about a link, %s", (_name, fabric) => {
  test("revoking stops what the link runs here, takes and sends nothing any more, and the other side is told why", async () => {
    const { a, b } = await linkedPair(fabric(), { b: family });
    const { taskId } = await spawnOn(a, b, "wait for me");
    const child = await until(() => childOf(b, taskId), "the child is there");
    await until(() => isAtWork(b, child.id), "it is at work");
    const own = await b.env.newThread();
    const { runId: ownRun } = await b.env.send({ type: "thread.send", threadId: own, text: "wait for me" });
    await until(() => isAtWork(b, own), "so is what a person asked for");
    await settled(a, b);

    const linkId = b.link(a).id;
    expect(await b.env.dispatch({ type: "link.revoke", linkId }, b.callOf(a))).toMatchObject({ refusal: { code: "capability_denied" } });
    expect(await b.env.send({ type: "link.revoke", linkId, reason: "the box was stolen" })).toMatchObject({ stopped: [child.id] });
    expect(b.link(a)).toMatchObject({ status: "revoked", ended: { how: "revoked", reason: "the box was stolen" } });
    await until(() => b.env.threads.get(child.id)?.status === "idle", "the child was stopped");
    expect(b.env.runs.get(ownRun)?.status).toBe("waiting");

    const late = await ask(a, b, "late");
    const told = await until(() => a.link(b).error?.includes("stolen") && a.link(b), "the other side is told");
    expect(told).toMatchObject({ status: "offline", error: expect.stringContaining("revoked this link"), backlog: expect.any(Number) });
    expect(b.env.threads.get(late.threadId)).toBeNull();
    // Not by the link itself either, whatever it was granted.
    for (const command of [
      { type: "thread.import", import: importOf("raw") },
      { type: "thread.send", threadId: child.id, text: "go on" },
      { type: "task.spawn", parentThreadId: child.id, prompt: "go on" },
    ])
      expect(await b.env.dispatch(command, b.callOf(a)), command.type).toMatchObject({ ok: false, refusal: { code: "capability_denied" } });
    expect(await b.env.dispatch({ type: "link.import", environmentId: a.id, import: importOf("x") })).toMatchObject({
      ok: false,
      refusal: { reason: "no_link" },
    });
    expect(await b.env.dispatch({ type: "link.revoke", linkId })).toMatchObject({ ok: false, refusal: { reason: "link_ended" } });
    await b.stop();
    await b.start();
    expect(b.link(a).status).toBe("revoked");
    expect(b.env.threads.get(late.threadId)).toBeNull();
  });

  test("after a revoked link the two may pair again: what was asked goes on under its ids, and is decided once", async () => {
    const { a, b } = await linkedPair(fabric());
    await importTo(a, b, "before");
    await settled(a, b);
    await b.stop();
    const waiting = await ask(a, b, "waits");
    await a.env.send({ type: "link.revoke", linkId: a.link(b).id });
    expect(a.link(b)).toMatchObject({ ended: { dropped: { requests: 1 } }, openRequests: [{ requestId: waiting.requestId }] });
    await b.start();
    await b.env.send({ type: "link.revoke", linkId: b.link(a).id });
    const { code } = await a.env.linkDesk.invite({ grants: allGrants });
    const joined = await b.env.linkDesk.join({ code, grants: allGrants });
    expect(joined.created).toBe(true);
    expect(await answerTo(a, waiting.requestId)).toMatchObject({ ok: true, result: { threadId: waiting.threadId, created: true } });
    expect(b.env.threads.list()).toHaveLength(2);
    expect([configured(a).length, configured(b).length]).toEqual([1, 1]);
    const statuses = () => a.env.links.list().map(({ status }) => status);
    await until(() => statuses().includes("online"), "the new link is online");
    expect(statuses().sort()).toEqual(["online", "revoked"]);
  });

  test("I07 a peer that never comes back is forgotten by a person's word: its tasks are dismissed, requests given up, and it is turned away with the reason", async () => {
    const { a, b } = await linkedPair(fabric(), { b: family });
    await importTo(a, b, "before");
    await settled(a, b);
    await b.stop();
    const { parentThreadId, taskId } = await spawnOn(a, b, "look");
    const asked = await ask(a, b, "late");
    const linkId = a.link(b).id;
    expect(
      await a.env.dispatch({ type: "link.forget", linkId }, { caller: { kind: "thread", threadId: parentThreadId, runId: null } }),
    ).toMatchObject({ ok: false, refusal: { code: "capability_denied" } });
    expect(await a.env.send({ type: "link.forget", linkId, reason: "it fell into the sea" })).toMatchObject({
      dismissedTasks: [taskId],
      givenUpRequests: 2,
      dropped: { requests: 2, answers: 0, notices: 0 },
    });
    expect(await taskEnded(a.env, taskId)).toMatchObject({ status: "interrupted", reason: "dismissed", results: 1 });
    expect(await answerTo(a, asked.requestId)).toMatchObject({
      ok: false,
      refusal: { reason: "peer_gone", message: expect.stringContaining("fell into the sea") },
    });
    expect(a.link(b)).toMatchObject({ status: "revoked", backlog: 0, openRequests: [], ended: { how: "forgotten" } });
    await a.env.say(parentThreadId, "what came of it?");
    expect(resultsFor(a.env, parentThreadId)).toMatchObject([{ status: "consumed" }]);
    expect(a.env.inputs().at(-1)?.context).toEqual([expect.stringContaining("fell into the sea")]);

    await b.start();
    await until(() => b.link(a).error?.includes("forgotten this link: it fell into the sea"), "it is told when it comes back");
    expect(b.env.threads.list()).toHaveLength(1);
  });

  test("a name and grants are changed at once and for the next start; what was granted no longer is refused, also as a raw command", async () => {
    const { a, b } = await linkedPair(fabric());
    const linkId = b.link(a).id;
    await b.env.linkDesk.rename(linkId, "the laptop");
    expect(b.link(a).name).toBe("the laptop");
    expect((await importTo(a, b, "h1")).answer).toMatchObject({ ok: true });
    await b.env.linkDesk.grant(linkId, [{ kind: "read" }]);
    expect((await importTo(a, b, "h2")).answer).toMatchObject({ ok: false, refusal: { reason: "not_granted" } });
    expect(await b.env.dispatch({ type: "thread.import", import: importOf("h3") }, b.callOf(a))).toMatchObject({
      refusal: { reason: "not_granted" },
    });
    expect(configured(b)).toMatchObject([{ name: "the laptop", grants: [{ kind: "read" }] }]);
    const { taskId } = await spawnOn(a, b, "look");
    expect(await taskEnded(a.env, taskId)).toMatchObject({ status: "failed", error: { reason: "not_granted" } });
  });

  test("a divergence is ended by a person's word on both sides: what has no receipt arrives once, nothing twice", async () => {
    const { a, b } = await linkedPair(fabric());
    await importTo(a, b, "h1");
    await settled(a, b);
    await b.stop();
    const copy = b.copy();
    await b.start();
    const lost = await importTo(a, b, "h2");
    await settled(a, b);
    await b.stop();
    b.setBackTo(copy);
    await b.start();
    await until(() => a.link(b).status === "diverged" && b.link(a).status === "diverged", "both see it");
    const [toB, toA] = [await ask(a, b, "h3"), await ask(b, a, "h4")];
    const heard = a.link(b).received?.epoch ?? 0;

    expect(await a.env.dispatch({ type: "link.rejoin", linkId: a.link(b).id }, a.callOf(b))).toMatchObject({
      refusal: { code: "capability_denied" },
    });
    expect(await a.env.send({ type: "link.rejoin", linkId: a.link(b).id })).toMatchObject({ again: 1, open: [toB.requestId] });
    // Nothing of an epoch that was, which the broker may still have, is taken on top of this.
    expect(a.link(b).received).toMatchObject({ number: 0 });
    expect(a.link(b).received?.epoch).toBeGreaterThan(heard);
    expect(await b.env.send({ type: "link.rejoin", linkId: b.link(a).id })).toMatchObject({ open: [toA.requestId] });
    expect(await answerTo(a, toB.requestId)).toMatchObject({ ok: true });
    expect(await answerTo(b, toA.requestId)).toMatchObject({ ok: true });
    await settled(a, b);
    expect(b.env.threads.list()).toHaveLength(2);
    expect(a.env.threads.list()).toHaveLength(1);
    // What the older copy no longer has can be asked for again under its own key.
    expect((await importTo(a, b, "h2")).threadId).toBe(lost.threadId);
    await b.stop();
    await b.start();
    await settled(a, b);
    expect(await a.env.dispatch({ type: "link.rejoin", linkId: a.link(b).id })).toMatchObject({ refusal: { reason: "not_diverged" } });
  });
});
