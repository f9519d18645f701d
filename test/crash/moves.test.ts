import { afterAll, expect, test } from "vitest";
import type { EnvironmentId, ThreadId } from "../../schemas/ids.ts";
import { isEndedRun } from "../../schemas/run.ts";
import { until } from "../support/environments.ts";
import { expectJournalsFold } from "../support/invariants.ts";
import { killedEnvironment } from "../support/killed-environment.ts";
import { allGrants, type LinkedSide, linkedPair, settled } from "../support/linked.ts";
import { TestNats } from "../support/nats.ts";
import { messagesOf } from "../support/reading.ts";
import { shareOf } from "./boundary.ts";

const nats = await TestNats.start();
afterAll(() => nats.end());

const id = "cmd:test:move";
const commandOf = (threadId: ThreadId, environmentId: EnvironmentId) =>
  ({ type: "thread.move", threadId, environmentId, continuationPrompt: "go on" }) as const;

/** Two environments, and a thread on `a` with one answered message. */
async function scene() {
  const { a, b } = await linkedPair({ nats: nats.url, transport: () => undefined });
  const threadId = await a.env.newThread();
  await a.env.say(threadId, "one");
  await settled(a, b);
  return { a, b, threadId, command: commandOf(threadId, b.id) };
}

/** Decided, and lived in one place: moved or released, never both, never neither. */
async function expectOne(a: LinkedSide, b: LinkedSide, threadId: ThreadId, outcome: "moved" | "released"): Promise<void> {
  const [move, ...others] = a.env.moves.list({ thread: threadId });
  expect(others).toEqual([]);
  const decided = await until(() => {
    const now = a.env.moves.get(move!.id);
    return now?.endedAt != null && now;
  }, "the move to be decided");
  const there = b.env.threads.list({ includeDeleted: true });
  if (outcome === "released") {
    expect(decided.status).toBe("failed");
    expect(there).toEqual([]);
    expect(await a.env.say(threadId, "two")).toMatchObject({ status: "completed" });
  } else {
    expect(decided.status).toBe("departed");
    expect(a.env.threads.get(threadId)).toMatchObject({ status: "departed", queue: [], activeRunId: null });
    expect(there.map((thread) => thread.id)).toEqual([decided.targetThreadId]);
    await until(() => b.env.threads.runs(decided.targetThreadId).every((run) => isEndedRun(run.status)), "the continuation to end");
    expect(b.env.threads.runs(decided.targetThreadId)).toHaveLength(1);
    // Killed while it was served, it is interrupted, and goes on when somebody says so.
    const next = await b.env.say(decided.targetThreadId, "two");
    expect(next).toMatchObject({ status: "completed", ordinal: 2 });
    expect(messagesOf(b.env, decided.targetThreadId).length).toBeGreaterThanOrEqual(5);
    expect(await a.env.dispatch({ type: "thread.send", threadId, text: "two" })).toMatchObject({ refusal: { code: "thread_departed" } });
  }
  await settled(a, b);
  for (const side of [a, b]) expect(side.env.health()).toMatchObject({ setAside: [], effectsSetAside: [] });
  for (const [side, peer] of [[a, b] as const, [b, a] as const])
    expect(side.link(peer)).toMatchObject({ keptMessages: [], openRequests: [] });
  for (const side of [a, b]) {
    await side.stop();
    expectJournalsFold(side.dir);
  }
}

const around = (what: string) => [`before ${what}`, `after ${what}`];
const ofSource = [
  ...around("commit *move.created*"),
  ...around("commit *move.checked*"),
  ...around("effect move.proceed"),
  ...around("commit *move.departing*"),
  ...around("commit *move.accepted*"),
  ...around("effect thread.forward"),
];
test.each(shareOf(ofSource))("the source, killed %s of a move and started again, has moved the thread", async (killAt) => {
  const { a, b, threadId, command } = await scene();
  await a.stop();
  await killedEnvironment({ dir: a.dir, commands: [{ id, command }], killAt });
  await a.start();
  // Whoever asked and got no answer asks again.
  await a.env.send(command, { id: id as never });
  await expectOne(a, b, threadId, "moved");
});

const ofPeer = [
  ...around("commit *outbox.answer*").map((place) => [place, 1] as const),
  ...around("commit *outbox.answer*").map((place) => [place, 2] as const),
  ...around("commit *thread.created*").map((place) => [place, 1] as const),
  ...around("commit *run.accepted*").map((place) => [place, 1] as const),
  ...around("commit *run.ended*").map((place) => [place, 1] as const),
];
test.each(shareOf(ofPeer))("the peer, killed %s (time %i) of a move and started again, has the thread", async (killAt, nth) => {
  const { a, b, threadId, command } = await scene();
  await b.stop();
  const killed = killedEnvironment({ dir: b.dir, commands: [], killAt, nth });
  await a.env.send(command);
  await killed;
  await b.start();
  await expectOne(a, b, threadId, "moved");
});

const releasing = [...around("commit *move.departing*"), ...around("commit *move.refused*")];
test.each(shareOf(releasing))("the source, killed %s of a move that the peer refuses in the end, has its thread back", async (killAt) => {
  const { a, b, threadId, command } = await scene();
  await b.stop();
  const agreed = killedEnvironment({ dir: b.dir, commands: [], killAt: "after commit *outbox.answer*" });
  await a.env.send(command);
  await agreed;
  await a.stop();
  // The peer has agreed, and its owner takes the grant away before the thread is offered.
  b.links = b.links.map((link) => ({ ...link, grants: allGrants.filter((grant) => grant.kind !== "move") }));
  await b.start();
  await killedEnvironment({ dir: a.dir, commands: [], killAt });
  await a.start();
  await expectOne(a, b, threadId, "released");
});

const takingBack = [...around("commit *move.abort_requested*"), ...around("commit *move.accepted*")];
test.each(shareOf(takingBack))(
  "the source, killed %s while the move is taken back from a peer that sleeps, has moved it all the same",
  async (killAt) => {
    const { a, b, threadId, command } = await scene();
    await b.stop();
    const agreed = killedEnvironment({ dir: b.dir, commands: [], killAt: "before commit *thread.created*" });
    await a.env.send(command);
    await agreed;
    expect(a.env.threads.get(threadId)?.status).toBe("departing");
    await a.stop();
    const asked = killedEnvironment({
      dir: a.dir,
      commands: [{ id: "cmd:test:back", command: { type: "thread.move_cancel", threadId } }],
      killAt,
    });
    if (killAt.includes("abort")) await asked;
    await b.start();
    await asked;
    await a.start();
    await expectOne(a, b, threadId, "moved");
  },
);
