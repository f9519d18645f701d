import { realpathSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { importThreadId } from "../../schemas/ids.ts";
import type { LinkRequest } from "../../schemas/wire.ts";
import { systemClock } from "../../services/runtime/system-clock.ts";
import { systemIdentifiers } from "../../services/runtime/system-identifiers.ts";
import { temporaryFolder, until } from "../support/environments.ts";
import { familyScript, resultsFor, taskEnded } from "../support/families.ts";
import { HandmadePeer, withHandmadePeer } from "../support/handmade-peer.ts";
import { messagesOf } from "../support/reading.ts";
import { git, makeRepository } from "../support/repository.ts";

const newId = () => systemIdentifiers.next("req");
const modes = { runtimeMode: "approval-required", interactionMode: "default" } as const;

function importRequest(handoffId: string, more: Record<string, unknown> = {}): LinkRequest {
  const wish = {
    handoffId,
    sourceEnvironmentId: "whoever",
    sourceThreadId: "the-source",
    messages: [{ role: "user", text: "hello" }],
    ...more,
  };
  return { kind: "thread.import", import: wish } as LinkRequest;
}

function spawnRequest(prompt: string): Extract<LinkRequest, { kind: "task.spawn" }> {
  const parent = systemIdentifiers.next("thread");
  const taskId = systemIdentifiers.next("task");
  return {
    kind: "task.spawn",
    taskId,
    title: prompt,
    prompt,
    handedOver: null,
    provider: null,
    modes,
    modesAsked: false,
    depth: 1,
    parentThreadId: parent,
    rootThreadId: parent,
  };
}

test("a request is decided once, for ever: the same again gets the same answer, another payload under its id a conflict", async () => {
  const { side, peer } = await withHandmadePeer();
  const [importId, spawnId] = [newId(), newId()];
  const wish = importRequest("h1", { continuationPrompt: "go on" });
  const spawn = spawnRequest("look");
  const first = await peer.ask(importId, wish);
  const spawned = await peer.ask(spawnId, spawn);
  expect(first).toMatchObject({ ok: true, result: { created: true, continuation: "started" } });
  expect(spawned).toMatchObject({ ok: true, result: { childThreadId: expect.any(String) } });
  await until(() => side.env.threads.list().every((t) => t.status === "idle"), "both have run");
  const counts = side.env.health().counts;

  const conflict = { ok: false, refusal: { code: "idempotency_conflict" } };
  const twice = async () => {
    expect(await peer.ask(importId, wish)).toEqual(first);
    expect(await peer.ask(spawnId, spawn)).toEqual(spawned);
    expect(await peer.ask(importId, importRequest("h2"))).toMatchObject(conflict);
    expect(await peer.ask(spawnId, { ...spawn, prompt: "look elsewhere" })).toMatchObject(conflict);
    expect(await peer.ask(spawnId, { kind: "task.cancel", taskId: spawn.taskId, reason: "no" })).toMatchObject(conflict);
  };
  await twice();
  await side.stop();
  await side.start();
  await twice();
  expect(side.env.health().counts).toEqual(counts);
  expect(
    side.env
      .inputs()
      .map((i) => i.message)
      .toSorted(),
  ).toEqual(["go on", "look"]);
});

test("a decision is kept by the peer that asked: the same request over a new link to it gets the same answer", async () => {
  const { side, peer, connect, pin } = await withHandmadePeer();
  const requestId = newId();
  const answer = await peer.ask(requestId, importRequest("h1"));
  await peer.stop();
  await side.stop();
  const again = new HandmadePeer("again", systemIdentifiers.next("link"), systemClock, {});
  Object.assign(again, { environmentId: peer.environmentId, keys: peer.keys });
  pin(again);
  await side.start();
  await connect(again);
  expect(await again.ask(requestId, importRequest("h1"))).toEqual(answer);
  expect(await again.ask(requestId, importRequest("h2"))).toMatchObject({ ok: false, refusal: { code: "idempotency_conflict" } });
  expect(await again.ask(newId(), importRequest("h1"))).toMatchObject({ ok: true, result: { created: false } });
  expect(side.env.threads.list()).toHaveLength(1);
});

test("a refused request stays refused under its id when the grant is given, and is taken under another", async () => {
  const { side, peer, pin } = await withHandmadePeer({ grants: { peer: [] } });
  const requestId = newId();
  const refused = await peer.ask(requestId, importRequest("h1"));
  expect(refused).toMatchObject({ ok: false, refusal: { code: "capability_denied" } });
  await side.stop();
  delete side.options.grants;
  pin(peer);
  await side.start();
  expect(await peer.ask(requestId, importRequest("h1"))).toEqual(refused);
  expect(await peer.ask(newId(), importRequest("h1"))).toMatchObject({ ok: true, result: { created: true } });
});

test("the source of an import is the pinned peer, whatever the message says", async () => {
  const { side, peer } = await withHandmadePeer();
  const answer = await peer.ask(newId(), importRequest("h1", { sourceEnvironmentId: side.id }));
  expect(answer).toMatchObject({ ok: true, result: { threadId: importThreadId(peer.environmentId, "the-source", "h1") } });
});

test("what cannot be used takes its number and is kept for reading; a request is answered, and what follows goes on", async () => {
  const { side, peer } = await withHandmadePeer({ scripts: { p1: familyScript } });
  const counts = side.env.health().counts;
  const [unknown, beyond, nobody] = [newId(), newId(), newId()];
  const bodies = [
    "no JSON at all",
    '{"type":"request"}',
    JSON.stringify({ type: "news", of: "tomorrow" }),
    JSON.stringify({ type: "answer", requestId: nobody, answer: { ok: true, result: {} } }),
    JSON.stringify({ type: "notice", notice: { kind: "task.started", taskId: systemIdentifiers.next("task") } }),
  ];
  for (const body of bodies) peer.say(body);
  const asked = await peer.ask(unknown, { kind: "thread.teleport" } as never);
  expect(asked).toMatchObject({ ok: false, refusal: { code: "invalid_request", reason: "not_understood" } });
  expect(await peer.ask(beyond, importRequest("h".repeat(129)))).toMatchObject({ ok: false, refusal: { code: "invalid_request" } });
  const link = side.env.links.list()[0];
  expect(link?.keptMessages.map((k) => k.number)).toEqual([1, 2, 3, 4, 5, 6, 7]);
  expect(link).toMatchObject({ status: "online", received: { number: 7 } });
  expect({ ...side.env.health().counts, link: counts.link }).toEqual(counts);
  expect(await peer.ask(newId(), importRequest("h1"))).toMatchObject({ ok: true });
});

test("an answer that names no child fails its task where a person sees it, and holds nothing up", async () => {
  const { side, peer } = await withHandmadePeer();
  const parent = await side.env.newThread();
  const spawn = () => side.env.send({ type: "task.spawn", parentThreadId: parent, prompt: "look", environmentId: peer.environmentId });
  const answers = [{ childThreadId: "nonsense" }, {}, { childThreadId: 7 }];
  for (const [i, result] of answers.entries()) {
    const { taskId } = await spawn();
    const asked = await until(() => peer.asked[i], "the request");
    peer.say({ type: "answer", requestId: asked.requestId, answer: { ok: true, result } });
    expect(await taskEnded(side.env, taskId)).toMatchObject({ status: "failed", error: { reason: "answer_not_understood" } });
  }
  expect(resultsFor(side.env, parent)).toHaveLength(3);
  expect(side.env.links.list()[0]?.openRequests).toEqual([]);
  expect(await peer.ask(newId(), importRequest("h1"))).toMatchObject({ ok: true });
});

test("news of a task is believed from the peer that runs it alone, and told twice it is one result", async () => {
  const { side, peer } = await withHandmadePeer();
  const parent = await side.env.newThread();
  const local = await side.env.send({ type: "task.spawn", parentThreadId: parent, prompt: "here" });
  await taskEnded(side.env, local.taskId);
  const far = await side.env.send({ type: "task.spawn", parentThreadId: parent, prompt: "there", environmentId: peer.environmentId });
  const { requestId } = await until(() => peer.asked[0], "the request");
  const childThreadId = systemIdentifiers.next("thread");
  const news = (taskId: typeof far.taskId, runId = systemIdentifiers.next("run")) =>
    ({
      type: "notice",
      notice: { kind: "task.result", taskId, childThreadId, runId, ordinal: 1, ending: "completed", text: "found", error: null },
    }) as const;

  peer.say(news(local.taskId));
  peer.say({ type: "answer", requestId, answer: { ok: true, result: { childThreadId } } });
  const result = news(far.taskId);
  for (let i = 0; i < 3; i += 1) peer.say(result);
  peer.say({
    type: "answer",
    requestId,
    answer: { ok: false, refusal: { code: "capability_denied", reason: "too_late", message: "", hint: "" } },
  });
  await peer.ask(newId(), importRequest("after it"));
  expect(side.env.tasks.get(far.taskId)).toMatchObject({ status: "completed", results: 1 });
  expect(side.env.tasks.get(local.taskId)).toMatchObject({ results: 1 });
  expect(resultsFor(side.env, parent)).toHaveLength(2);
  expect(side.env.links.list()[0]?.keptMessages.map((k) => k.number)).toEqual([1]);
});

test("an import that names a worktree of the project works there, also over a link; what follows it waits for its decision", async () => {
  const dir = realpathSync(temporaryFolder());
  const [main, worktree] = [join(dir, "main"), join(dir, "worktree")];
  makeRepository(main);
  git(main, "worktree", "add", worktree, "-b", "side");
  const { side, peer } = await withHandmadePeer();
  const { projectId } = await side.env.send({ type: "project.add", path: main });
  const named = { projectId, worktreePath: worktree, continuationPrompt: "where?" };
  const asking = [
    peer.ask(newId(), importRequest("h1", named)),
    peer.ask(newId(), importRequest("h2")),
    peer.ask(newId(), importRequest("h3", { ...named, worktreePath: dir })),
  ];
  const [first, second, third] = await Promise.all(asking);
  expect(first).toMatchObject({ ok: true, result: { created: true } });
  expect(second).toMatchObject({ ok: true, result: { created: true } });
  expect(third).toMatchObject({ ok: false, refusal: { code: "invalid_request", reason: "not_a_worktree" } });
  const threadId = importThreadId(peer.environmentId, "the-source", "h1");
  expect(side.env.threads.get(threadId)?.workspace).toEqual({ strategy: "existing", path: worktree });
  await until(() => side.env.inputs().length === 1, "it runs");
  expect(side.env.inputs()[0]?.cwd).toBe(worktree);
  await until(() => messagesOf(side.env, threadId).length === 3, "it is answered");
});

test("a receipt of what the peer was before is not believed: what the peer's store lacks is kept for it", async () => {
  const { side, peer: former, connect } = await withHandmadePeer();
  const send = (handoffId: string) =>
    side.env.send({
      type: "link.import",
      environmentId: former.environmentId,
      import: (importRequest(handoffId) as { import: object }).import,
    } as never);
  const link = () => side.env.links.list()[0];
  await send("h1");
  await until(() => link()?.sent.number === 1 && link()?.backlog === 0, "the first is receipted");
  await former.stop();

  const latter = new HandmadePeer("latter", former.linkId, systemClock, {});
  Object.assign(latter, { environmentId: former.environmentId, keys: former.keys });
  const { sent, received } = former.state;
  Object.assign(latter.state, {
    sent: { ...sent, epoch: 2, number: 0 },
    received,
    previous: { incarnation: former.ledger.incarnation, sent, received },
  });
  await connect(latter);
  await until(() => latter.stats.answered, "the new incarnation is known");
  await latter.stop();

  await connect(former);
  await send("h2");
  await until(() => former.asked.length === 2, "the former one has taken it");
  await send("h3");
  await until(() => former.asked.length === 3, "and the next");
  // Nor is what it says of where it stands.
  await former.stop();
  await connect(former);
  await until(() => former.stats.answered, "it has said so again");
  expect(link()).toMatchObject({ status: "online", backlog: 2, receipted: { number: 1 } });
  await former.stop();
  await connect(latter);
  await until(() => link()?.backlog === 0, "the peer has both");
  expect(latter.asked).toHaveLength(2);
});

test("without its link a task can still be stopped and given up, and so can what else its parent does", async () => {
  const { side, peer } = await withHandmadePeer({ scripts: { p1: familyScript } });
  const parent = await side.env.newThread();
  const far = await side.env.send({ type: "task.spawn", parentThreadId: parent, prompt: "look", environmentId: peer.environmentId });
  await side.stop();
  side.links = [];
  const env = await side.start();
  const near = await env.send({ type: "task.spawn", parentThreadId: parent, prompt: "hang" });
  await until(() => env.tasks.get(near.taskId)?.status === "running", "the child runs");
  const { runId } = await env.send({ type: "thread.send", threadId: parent, text: "hang" });
  await until(() => env.runs.get(runId)?.status === "running", "the parent runs");
  expect(await env.dispatch({ type: "thread.interrupt", threadId: parent })).toMatchObject({ ok: true });
  expect((await env.ended(runId)).status).toBe("interrupted");
  expect((await taskEnded(env, near.taskId)).status).toBe("cancelled");
  expect(env.tasks.get(far.taskId)?.status).toBe("cancelling");
  await env.send({ type: "task.dismiss", taskId: far.taskId });
  expect(env.tasks.get(far.taskId)).toMatchObject({ status: "interrupted", reason: "dismissed" });
  expect(
    await env.dispatch({ type: "task.spawn", parentThreadId: parent, prompt: "look", environmentId: peer.environmentId }),
  ).toMatchObject({ ok: false, refusal: { code: "capability_denied" } });
  expect(env.tasks.list({ parent })).toHaveLength(2);
});
