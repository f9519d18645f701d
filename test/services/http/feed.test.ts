import { type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import { expect, test } from "vitest";
import type { Change } from "../../../schemas/feed.ts";
import type { ThreadId } from "../../../schemas/ids.ts";
import type { FeedLine } from "../../../services/http/client/feed-line.ts";
import { connectLocal, type LocalClient } from "../../../services/http/client.ts";
import { readCommits } from "../../../services/http/commits.ts";
import { serveEnvironment } from "../../../services/serving.ts";
import { atEnd, type Home, home } from "./rig.ts";

async function served(
  options: Parameters<typeof serveEnvironment>[1] = {},
): Promise<Home & { client: LocalClient; stop(): Promise<void>; start(): Promise<void> }> {
  const at = await home();
  let server = await serveEnvironment(at.environment, options);
  const client = connectLocal(at.environment.dir);
  atEnd(async () => {
    client.close();
    await server.close();
  });
  return Object.assign(at, {
    client,
    stop: () => server.close(),
    async start() {
      server = await serveEnvironment(at.environment, options);
    },
  });
}

/** Reads a feed until a line is what is waited for. */
async function collect(client: LocalClient, after: number, isLast: (line: FeedLine) => boolean, thread?: ThreadId): Promise<FeedLine[]> {
  const lines: FeedLine[] = [];
  const stop = new AbortController();
  for await (const line of client.feed({ after, signal: stop.signal, ...(thread !== undefined && { thread }) })) {
    lines.push(line);
    if (isLast(line)) stop.abort();
  }
  return lines;
}
const changesIn = (lines: readonly FeedLine[]): Change[] => lines.flatMap((line) => (line.type === "commit" ? line.changes : []));
const keys = (changes: readonly Change[]) => changes.map((change) => `${change.commit}/${change.index}`);

test("a snapshot at a commit and the feed after it tell every change once, in order, across a lost connection and a restart", async () => {
  const at = await served();
  await at.thread("before");
  const { commit } = await at.client.environment();
  const seen: FeedLine[] = [];
  const stop = new AbortController();
  const reading = (async () => {
    for await (const line of at.client.feed({ after: commit, signal: stop.signal })) seen.push(line);
  })();
  const threadId = await at.thread("one");
  // The connection is lost; what is committed meanwhile is told when it is back.
  await at.stop();
  await at.send({ type: "thread.rename", threadId, title: "while nobody listens" });
  await at.start();
  await at.thread("two");
  // The whole environment starts anew.
  await at.stop();
  await at.restart();
  await at.start();
  await at.thread("three");
  const last = at.environment.lastCommit;
  await expect.poll(() => changesIn(seen).at(-1)?.commit, { timeout: 20_000 }).toBe(last);
  stop.abort();
  await reading;
  expect(keys(changesIn(seen))).toEqual(keys(at.environment.changes(commit, 100_000)));
  expect(seen.filter((line) => line.type === "synchronized")).toHaveLength(1);
});

test("a page ends only between commits, whatever its size, also inside one large commit", async () => {
  const at = await served();
  await at.thread("zero");
  const messages = Array.from({ length: 600 }, (_, n) => ({ role: "user" as const, text: `message ${n}` }));
  await at.send({ type: "thread.import", import: { handoffId: "h", sourceEnvironmentId: "e", sourceThreadId: "t", messages } });
  await at.thread("one", "two");
  const all = keys(at.environment.changes(0, 100_000));
  for (const size of [1, 2, 3, 7, 100, 100_000]) {
    const told: string[] = [];
    let after = 0;
    while (after < at.environment.lastCommit) {
      const { commits, through } = readCommits(at.environment, after, size);
      expect(through).toBeGreaterThan(after);
      told.push(...commits.flatMap(({ changes }) => keys(changes)));
      after = through;
    }
    expect(told, `pages of ${size}`).toEqual(all);
  }
  // A feed is synchronized once it has told all pages, not the first.
  expect(keys(changesIn(await collect(at.client, 0, (line) => line.type === "synchronized")))).toEqual(all);
});

test("the feed of a thread tells what concerns it and its unfinished text, and nothing of others", async () => {
  const at = await served({ progressMs: 20 });
  const other = await at.thread("elsewhere");
  const threadId = await at.thread("here");
  const forked = await at.send({ type: "thread.fork", threadId, at: { kind: "latest_stable" } });
  await at.thread("elsewhere again");
  const { commit } = await at.client.environment();
  const lines = await collect(at.client, 0, (line) => line.type === "synchronized", threadId);
  const changes = changesIn(lines);
  expect(new Set(changes.flatMap((c) => (c.type === "item" ? c.threadId : [])))).toEqual(new Set([threadId]));
  const actors = new Set<string>(changes.flatMap((c) => (c.type === "actor" ? c.actorId : [])));
  expect(actors).toEqual(new Set([threadId, forked.transferId, ...at.environment.threads.runs(threadId).map((run) => run.id)]));
  expect(actors).not.toContain(other);
  expect(lines.at(-1)).toEqual({ type: "synchronized", commit });
});

test("a quiet feed says that it is alive, and up to where everything was told", async () => {
  const at = await served({ heartbeatMs: 50 });
  const threadId = await at.thread();
  const lines = await collect(at.client, 0, (line) => line.type === "heartbeat", threadId);
  expect(lines.at(-1)).toEqual({ type: "heartbeat", commit: at.environment.lastCommit });
});

test("a reader that does not read holds nothing up and is told everything once it does", async () => {
  const at = await served();
  const threadId = await at.thread();
  const slow = await open(at.environment.dir, "/v1/feed?after=0");
  slow.pause();
  const messages = Array.from({ length: 400 }, () => ({ role: "user" as const, text: "x".repeat(15_000) }));
  await at.send({ type: "thread.import", import: { handoffId: "h", sourceEnvironmentId: "e", sourceThreadId: "t", messages } });
  await at.send({ type: "thread.rename", threadId, title: "last" });
  let told = "";
  let tail = "";
  for await (const chunk of slow.setEncoding("utf8")) {
    told += chunk;
    tail = (tail + chunk).slice(-5_000);
    if (tail.includes(`{"type":"commit","commit":${at.environment.lastCommit},`) && tail.endsWith("\n")) break;
  }
  expect(keys(changesIn(linesOf(told)))).toEqual(keys(at.environment.changes(0, 100_000)));
  // The client puts lines together that come in many pieces.
  const lines = await collect(at.client, 0, (line) => line.type === "synchronized");
  expect(keys(changesIn(lines))).toEqual(keys(at.environment.changes(0, 100_000)));
});
const linesOf = (told: string) => told.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as FeedLine]));

test("closing the server ends open feeds and does not wait for connections that say nothing", async () => {
  const at = await served();
  const feed = await open(at.environment.dir, "/v1/feed?after=0");
  const silent = connect({ path: `${at.environment.dir}/ropewalk.sock` });
  await new Promise((resolve) => silent.once("connect", resolve));
  const ended = new Promise((resolve) => feed.once("close", resolve));
  feed.resume();
  const before = performance.now();
  await at.stop();
  await ended;
  expect(performance.now() - before).toBeLessThan(5_000);
  // Ended, not cut off.
  expect(feed.complete).toBe(true);
  silent.destroy();
});

function open(dir: string, path: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request({ socketPath: `${dir}/ropewalk.sock`, path }, resolve)
      .on("error", reject)
      .end();
  });
}
