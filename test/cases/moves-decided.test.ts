import { expect, test } from "vitest";
import { importThreadId, type MoveId, type ThreadId } from "../../schemas/ids.ts";
import { broadestModes } from "../../schemas/modes.ts";
import type { LinkAnswer, LinkRequest } from "../../schemas/wire.ts";
import { systemClock } from "../../services/runtime/system-clock.ts";
import { systemIdentifiers } from "../../services/runtime/system-identifiers.ts";
import { until } from "../support/environments.ts";
import { HandmadePeer, withHandmadePeer } from "../support/handmade-peer.ts";
import { importOf } from "../support/link-talk.ts";
import { allGrants } from "../support/linked.ts";
import { messagesOf } from "../support/reading.ts";

const newId = () => systemIdentifiers.next("req");

function offer(more: Record<string, unknown> = {}): Extract<LinkRequest, { kind: "thread.move" }> {
  return {
    kind: "thread.move",
    offer: {
      moveId: systemIdentifiers.next("move"),
      sourceThreadId: systemIdentifiers.next("thread"),
      title: "Moved",
      modes: broadestModes,
      provider: null,
      repository: null,
      messages: [{ role: "user", text: "hello", createdAt: 1 }],
      queued: [],
      continuationPrompt: "go on",
      code: null,
      ...more,
    },
  };
}

test("an abort that comes before the offer leaves a tombstone for ever, honoured at every door", async () => {
  const { side, peer } = await withHandmadePeer();
  const asked = offer();
  const { moveId, sourceThreadId } = asked.offer;
  const threadId = importThreadId(peer.environmentId, sourceThreadId, moveId);
  expect(await peer.ask(newId(), { kind: "move.abort", moveId, sourceThreadId })).toEqual({
    ok: true,
    result: { outcome: "aborted", threadId },
  });
  const byKey = importOf(moveId, { sourceThreadId, sourceEnvironmentId: peer.environmentId });
  const nothingComes = async () => {
    expect(await peer.ask(newId(), asked)).toMatchObject({ ok: false, refusal: { reason: "move_taken_back" } });
    expect(await peer.ask(newId(), { kind: "thread.import", import: byKey })).toMatchObject({
      ok: false,
      refusal: { reason: "move_taken_back" },
    });
    const receipt = await side.env.dispatch({ type: "thread.import", import: byKey });
    expect(receipt).toMatchObject({ ok: false, refusal: { reason: "move_taken_back" } });
    expect(await peer.ask(newId(), { kind: "move.abort", moveId, sourceThreadId })).toMatchObject({ result: { outcome: "aborted" } });
    expect(side.env.threads.list({ includeDeleted: true })).toEqual([]);
  };
  await nothingComes();
  await side.stop();
  await side.start();
  await nothingComes();
});

test("an abort that comes after the offer is answered with where the thread lives, and so is the offer under another request", async () => {
  const { side, peer } = await withHandmadePeer();
  const asked = offer();
  const { moveId, sourceThreadId } = asked.offer;
  const threadId = importThreadId(peer.environmentId, sourceThreadId, moveId);
  expect(await peer.ask(newId(), asked)).toMatchObject({ ok: true, result: { threadId, runIds: [expect.any(String)] } });
  expect(await peer.ask(newId(), { kind: "move.abort", moveId, sourceThreadId })).toMatchObject({
    ok: true,
    result: { outcome: "accepted", threadId },
  });
  expect(await peer.ask(newId(), asked)).toMatchObject({ ok: true, result: { threadId, runIds: [] } });
  await until(() => side.env.threads.get(threadId)?.status === "idle", "the continuation to end");
  expect(side.env.threads.runs(threadId)).toHaveLength(1);
  // Its key as an import's: the thread is there, with other content.
  const byKey = importOf(moveId, { sourceThreadId, sourceEnvironmentId: peer.environmentId });
  expect(await side.env.dispatch({ type: "thread.import", import: byKey })).toMatchObject({
    ok: false,
    refusal: { code: "idempotency_conflict" },
  });
});

test("an offer that was refused stays refused under whatever request it comes again, also once it would be taken", async () => {
  const grants = { peer: allGrants.filter((grant) => grant.kind !== "move") };
  const { side, peer, pin } = await withHandmadePeer({ grants });
  const asked = offer();
  expect(await peer.ask(newId(), asked)).toMatchObject({ ok: false, refusal: { code: "capability_denied" } });
  await side.stop();
  side.options.grants = { peer: allGrants };
  pin(peer);
  await side.start();
  expect(await peer.ask(newId(), asked)).toMatchObject({ ok: false, refusal: { reason: "move_taken_back" } });
  expect(await peer.ask(newId(), offer())).toMatchObject({ ok: true });
  expect(side.env.threads.list()).toHaveLength(1);
});

/** A thread of the environment on its way to the handmade peer, which has the offer and has not answered. */
async function departing() {
  const { side, peer, connect, pin } = await withHandmadePeer();
  const threadId = await side.env.newThread();
  await side.env.say(threadId, "one");
  const { moveId } = await side.env.send({ type: "thread.move", threadId, environmentId: peer.environmentId });
  const preflight = await asked(peer, "move.preflight");
  reply(peer, preflight.requestId, { ok: true, result: { lacks: [], projectId: null, known: [], version: "1" } });
  const offered = await asked(peer, "thread.move");
  return { side, peer, connect, pin, threadId, moveId, offerId: offered.requestId };
}

const asked = (peer: HandmadePeer, kind: LinkRequest["kind"], nth = 0) =>
  until(() => peer.asked.filter(({ request }) => request.kind === kind)[nth], `to be asked ${kind}`);
const reply = (peer: HandmadePeer, requestId: ReturnType<typeof newId>, answer: LinkAnswer) =>
  peer.say({ type: "answer", requestId, answer });

test("between the offer and its answer the thread takes no turns, whatever is asked and however often it starts again", async () => {
  const { side, peer, threadId, moveId, offerId } = await departing();
  for (let start = 0; start < 3; start += 1) {
    const receipt = await side.env.dispatch({ type: "thread.send", threadId, text: "two" });
    expect(receipt).toMatchObject({ ok: false, refusal: { code: "thread_not_sendable", reason: "departing" } });
    expect(await side.env.dispatch({ type: "thread.delete", threadId })).toMatchObject({ ok: false, refusal: { reason: "moving" } });
    await side.stop();
    await side.start();
    expect(side.env.threads.get(threadId)).toMatchObject({ status: "departing", moving: moveId });
  }
  expect(peer.asked.filter(({ request }) => request.kind === "thread.move")).toHaveLength(1);
  reply(peer, offerId, { ok: false, refusal: { code: "invalid_request", reason: "no_room", message: "full", hint: "later" } });
  expect(await side.env.moves.wait(moveId, { timeoutMs: 20_000 })).toMatchObject({ status: "failed", error: { reason: "no_room" } });
  expect(side.env.threads.get(threadId)).toMatchObject({ status: "idle", moving: null });
  expect(await side.env.say(threadId, "two")).toMatchObject({ status: "completed" });
  expect(messagesOf(side.env, threadId)).toHaveLength(4);
});

test("an answer that does not say what lives there releases nothing: the source asks until it knows", async () => {
  const { side, peer, threadId, moveId, offerId } = await departing();
  reply(peer, offerId, {
    ok: false,
    refusal: { code: "idempotency_conflict", reason: "request_differs", message: "known", hint: "another id" },
  });
  const abort = await asked(peer, "move.abort");
  expect(abort.request).toMatchObject({ moveId, sourceThreadId: threadId });
  expect(side.env.threads.get(threadId)?.status).toBe("departing");
  const there = importThreadId(side.id, threadId, moveId);
  reply(peer, abort.requestId, { ok: true, result: { outcome: "accepted", threadId: there } });
  expect(await side.env.moves.wait(moveId, { timeoutMs: 20_000 })).toMatchObject({ status: "departed", targetThreadId: there });
});

test("taking it back while it departs asks the peer, whose word stands: released where nothing arrived, departed where it did", async () => {
  for (const outcome of ["aborted", "accepted"] as const) {
    const { side, peer, threadId, moveId, offerId } = await departing();
    const there = importThreadId(side.id, threadId, moveId);
    expect(await side.env.send({ type: "thread.move_cancel", threadId })).toMatchObject({ outcome: "asked" });
    // Asked twice: the first question may have gone with a link.
    await side.env.send({ type: "thread.move_cancel", threadId });
    const abort = await asked(peer, "move.abort");
    expect(side.env.threads.get(threadId)?.status).toBe("departing");
    reply(peer, abort.requestId, { ok: true, result: { outcome, threadId: there } });
    const decided = await side.env.moves.wait(moveId, { timeoutMs: 20_000 });
    expect(decided?.status).toBe(outcome === "aborted" ? "failed" : "departed");
    // The offer's own answer comes late, and says the same.
    reply(
      peer,
      offerId,
      outcome === "accepted"
        ? { ok: true, result: { threadId: there } }
        : { ok: false, refusal: { code: "invalid_request", reason: "move_taken_back", message: "no", hint: "no" } },
    );
    const last = await side.env.send({ type: "thread.create" });
    expect(last.threadId).toBeDefined();
    expect(side.env.moves.get(moveId)?.status).toBe(decided?.status);
  }
});

test("taken back while it waits, it is over at once, whatever the peer answers later", async () => {
  const { side, peer } = await withHandmadePeer();
  const threadId: ThreadId = await side.env.newThread();
  await side.env.say(threadId, "one");
  const { moveId } = await side.env.send({ type: "thread.move", threadId, environmentId: peer.environmentId });
  const preflight = await asked(peer, "move.preflight");
  expect(await side.env.send({ type: "thread.move_cancel", threadId })).toEqual({ moveId, outcome: "cancelled" });
  reply(peer, preflight.requestId, { ok: true, result: { lacks: [], projectId: null, known: [], version: "1" } });
  expect(await side.env.say(threadId, "two")).toMatchObject({ status: "completed" });
  expect(side.env.moves.get(moveId as MoveId)).toMatchObject({ status: "failed", error: { reason: "cancelled" } });
  expect(side.env.threads.get(threadId)).toMatchObject({ status: "idle" });
  expect(peer.asked.map(({ request }) => request.kind)).toEqual(["move.preflight"]);
});

test("a peer of a version without moves is told apart: the thread never departs", async () => {
  const { side, peer } = await withHandmadePeer();
  const threadId = await side.env.newThread();
  await side.env.say(threadId, "one");
  const { moveId } = await side.env.send({ type: "thread.move", threadId, environmentId: peer.environmentId });
  const preflight = await asked(peer, "move.preflight");
  reply(peer, preflight.requestId, {
    ok: false,
    refusal: { code: "invalid_request", reason: "not_understood", message: "unknown kind", hint: "Update it." },
  });
  expect(await side.env.moves.wait(moveId, { timeoutMs: 20_000 })).toMatchObject({
    status: "failed",
    departingAt: null,
    lacks: [{ what: "version" }],
  });
});

test.each(["aborted", "accepted"] as const)(
  "forgotten as gone, a peer leaves a new thread to go on with at once; when it is paired again it is asked, and %s decides the old one",
  async (outcome) => {
    const { side, peer, connect, pin, threadId, moveId } = await departing();
    await side.env.send({ type: "thread.mark", threadId, mark: "archived", on: true });
    const [link] = side.env.links.list();
    const { newThreads } = await side.env.send({ type: "link.forget", linkId: link!.id });
    const [standIn] = newThreads as [ThreadId];
    expect(side.env.threads.get(standIn)).toMatchObject({
      lineage: { parentThreadId: threadId, relationshipToParent: "fork" },
      mayAlsoLive: { environmentId: peer.environmentId, moveId },
      marks: {},
    });
    expect(await side.env.say(standIn, "two")).toMatchObject({ status: "completed" });
    expect(messagesOf(side.env, standIn).length).toBeGreaterThan(0);
    // By nobody's word but the peer's does the old one take turns again.
    expect(side.env.threads.get(threadId)).toMatchObject({ status: "departing" });
    expect(side.env.moves.get(moveId)).toMatchObject({ status: "departing", standIn });
    expect(await side.env.dispatch({ type: "thread.send", threadId, text: "x" })).toMatchObject({ refusal: { reason: "departing" } });

    await side.stop();
    await peer.stop();
    const again = new HandmadePeer("again", systemIdentifiers.next("link"), systemClock, {});
    Object.assign(again, { environmentId: peer.environmentId, keys: peer.keys });
    pin(again);
    await side.start();
    await connect(again);
    const abort = await asked(again, "move.abort");
    const there = importThreadId(side.id, threadId, moveId);
    reply(again, abort.requestId, { ok: true, result: { outcome, threadId: there } });
    const decided = await side.env.moves.wait(moveId, { timeoutMs: 20_000 });
    expect(decided?.status).toBe(outcome === "accepted" ? "departed" : "failed");
    expect(side.env.threads.get(threadId)?.status).toBe(outcome === "accepted" ? "departed" : "idle");
    expect(side.env.threads.get(standIn)).toMatchObject({ status: "idle" });
  },
);
