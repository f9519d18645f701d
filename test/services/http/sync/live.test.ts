import { connect } from "node:net";
import { expect, test } from "vitest";
import { RawResponse } from "../../../../bench/support/wire/raw-http.ts";
import type { ThreadId } from "../../../../schemas/ids.ts";
import type { ThreadLiveLine } from "../../../../schemas/live.ts";
import type { ThreadPatch, ThreadSnapshot } from "../../../../schemas/thread-view.ts";
import { applyThreadPatch } from "../../../../services/http/client/apply-thread.ts";
import { bounds } from "../../../../services/http/sync/bounds.ts";
import { threadSnapshot } from "../../../../services/http/sync/thread-snapshot.ts";
import type { Environment } from "../../../../services/runtime/environment-api.ts";
import { serveEnvironment } from "../../../../services/serving.ts";
import { startEnvironment, type TestEnvironment, until } from "../../../support/environments.ts";
import { atEnd, home } from "../rig.ts";
import { followEnvironment, followThread, isSynchronized } from "./rig.ts";

const isPatch = (line: { type: string }): line is { type: "patch" } & ThreadPatch => line.type === "patch";
const patches = (lines: readonly ThreadLiveLine[]) => lines.filter(isPatch);
const ended = (line: ThreadLiveLine) => isPatch(line) && line.turns?.some(({ run }) => run?.endedAt != null) === true;

async function viewOf(environment: Environment, id: ThreadId): Promise<ThreadSnapshot> {
  const view = await threadSnapshot(environment, id, 1_000);
  if (view === null) throw new Error(`${id} is not there`);
  return view;
}

/** A thread at rest, and a client that knows all of it. */
async function synchronized(env: TestEnvironment, coalesceMs: number) {
  const id = await env.newThread();
  const lines = followThread(env, id, env.lastCommit, { coalesceMs });
  await lines.until(isSynchronized);
  return { id, lines };
}

test("the first change after quiet goes at once, and everything that follows within a moment goes as one message", async () => {
  // Each in a commit of its own.
  const steps = Array.from({ length: 30 }, (_, n) => [{ command: { command: `step ${n}`, output: "" } }, { delay: 15 }]).flat();
  const env = await startEnvironment({ scripts: { p1: { rules: [{ match: { regex: "." }, steps }] } } });
  const { id, lines } = await synchronized(env, 1_500);
  const began = performance.now();
  const first = lines.until(isPatch);
  const running = env.say(id, "go");
  expect(patches(await first)).toMatchObject([{ turns: [{ ordinal: 1, items: [{ content: "go" }] }], state: { status: "running" } }]);
  expect(performance.now() - began).toBeLessThan(1_500);
  const rest = patches(await lines.until(ended));
  await running;
  expect(rest).toHaveLength(1);
  expect(rest[0]?.turns?.[0]?.items).toHaveLength(30);
  expect(rest[0]).toMatchObject({ commit: env.lastCommit, state: { status: "idle" } });
  // Several states of one run within the window: the last one is what there is to see.
  expect(rest[0]?.turns).toHaveLength(1);
  await lines.close();
});

test("text that is being written is told once, piece by piece, and is gone when its item is there", async () => {
  const words = Array.from({ length: 12 }, (_, n) => `word${n} `);
  const steps = [...words.flatMap((delta) => [{ delta }, { delay: 120 }]), { text: words.join("") }];
  const env = await startEnvironment({ scripts: { p1: { rules: [{ match: { regex: "." }, steps }] } } });
  const { id, lines } = await synchronized(env, 50);
  let view = await viewOf(env, id);
  void env.say(id, "go");
  const seen = patches(await lines.until(ended));
  const told = seen.flatMap(({ unfinished }) => (unfinished == null ? [] : [unfinished]));
  expect(told.length).toBeGreaterThan(2);
  // Nothing of it twice: what each patch keeps is all that was told before.
  const whole = words.join("");
  let text = "";
  for (const { keep = 0, text: more } of told) {
    expect(keep).toBe(text.length);
    text += more;
    expect(whole.startsWith(text)).toBe(true);
  }
  for (const patch of seen) view = applyThreadPatch(view, patch);
  expect(view.unfinished).toBeUndefined();
  expect(view).toEqual({ ...(await viewOf(env, id)), commit: view.commit });
  await lines.close();
});

test("who comes back in the middle of a text is given all of it, and who had one that is over is told that it is gone", async () => {
  const steps = [{ delta: "half of a" }, { hang: true }];
  const env = await startEnvironment({ scripts: { p1: { rules: [{ match: { contains: "hang" }, steps }] } }, interruptMs: 1_000 });
  const id = await env.newThread();
  const { runId } = await env.send({ type: "thread.send", threadId: id, text: "hang" });
  await until(() => env.runs.progress(runId), "the text");
  const view = await viewOf(env, id);
  expect(view.unfinished).toBe("half of a");
  const back = followThread(env, id, view.commit);
  const again = patches(await back.until(isSynchronized)).reduce(applyThreadPatch, view);
  expect(again.unfinished).toBe("half of a");
  await back.close();
  await env.send({ type: "thread.interrupt", threadId: id });
  await env.ended(runId);
  const later = followThread(env, id, view.commit);
  expect(patches(await later.until(isSynchronized)).reduce(applyThreadPatch, view).unfinished).toBeUndefined();
  await later.close();
});

test("nothing is kept for a client that does not read: it is told what there is when it does, in one patch", async () => {
  const env = await startEnvironment();
  const { id, lines } = await synchronized(env, 0);
  for (let n = 0; n < 20; n += 1) await env.say(id, `message ${n}`);
  await env.send({ type: "thread.rename", threadId: id, title: "last" });
  const [patch, ...more] = patches(await lines.until((line) => isPatch(line) && line.commit === env.lastCommit));
  expect(more).toEqual([]);
  expect(patch?.turns).toHaveLength(20);
  expect(patch?.state?.title).toBe("last");
  await lines.close();
});

test("a client that is too far behind is told to read a snapshot again, as the last thing, and is whole after it", async () => {
  const env = await startEnvironment();
  const { id, lines } = await synchronized(env, 0);
  const before = await viewOf(env, id);
  const turnsNeeded = bounds.patchItems / 2 + 1;
  for (let n = 0; n < turnsNeeded; n += 1) await env.send({ type: "thread.send", threadId: id, text: `message ${n}` });
  await until(() => env.threads.get(id)?.status === "idle", "all of it done", 60_000);
  const left = await lines.until(() => false);
  expect(left.map(({ type }) => type)).toEqual(["resnapshot"]);
  // Also one that comes back only now.
  const back = followThread(env, id, before.commit);
  expect((await back.until(() => false)).map(({ type }) => type)).toEqual(["resnapshot"]);
  const whole = await viewOf(env, id);
  const after = followThread(env, id, whole.commit);
  expect((await after.until(isSynchronized)).at(-1)).toEqual({ type: "synchronized", commit: env.lastCommit });
  await after.close();
}, 90_000);

test("a client that would have to be told more than a snapshot holds is told to read one, however few the messages", async () => {
  const env = await startEnvironment();
  const { id, lines } = await synchronized(env, 0);
  const text = "m".repeat(15_000);
  for (let n = 0; n <= bounds.patchBytes / text.length; n += 1) await env.say(id, text);
  expect((await lines.until(() => false)).map(({ type }) => type)).toEqual(["resnapshot"]);
}, 60_000);

test("a quiet connection says that it is alive, and up to where everything was told, though nothing of it concerned the thread", async () => {
  const env = await startEnvironment();
  const id = await env.newThread();
  const lines = followThread(env, id, env.lastCommit, { heartbeatMs: 60 });
  await lines.until(isSynchronized);
  const other = await env.newThread();
  await env.say(other, "elsewhere");
  const seen = await lines.until((line) => line.type === "heartbeat" && line.commit === env.lastCommit);
  expect(patches(seen)).toEqual([]);
  await lines.close();
});

test("the list is told of threads that come, change, wait for a person and go, each change once", async () => {
  const env = await startEnvironment({
    scripts: { p1: { rules: [{ match: { contains: "ask" }, steps: [{ ask: { text: "really?" } }, { delay: 400 }, { text: "ok" }] }] } },
  });
  const lines = followEnvironment(env, env.lastCommit, { coalesceMs: 10 });
  await lines.until(isSynchronized);
  const id = await env.newThread({ title: "new" });
  const line = async (look: (thread: { id: string; activity?: string | null; status: string }) => boolean) =>
    (await lines.until((l) => l.type === "patch" && l.threads?.some((t) => t.id === id && look(t)) === true)).at(-1);
  expect(await line(() => true)).toMatchObject({ threads: [{ title: "new", status: "idle" }] });
  const { runId } = await env.send({ type: "thread.send", threadId: id, text: "ask" });
  await line((thread) => thread.activity === "waiting");
  const requestId = env.runs.get(runId)?.openRequests[0]?.requestId ?? "";
  await env.send({ type: "run.answer", runId, requestId, answer: "yes" });
  // Nothing of the thread itself has changed by that.
  await line((thread) => thread.activity === "running");
  await line((thread) => thread.status === "idle");
  await env.send({ type: "thread.delete", threadId: id });
  await line((thread) => thread.status === "deleted");
  await lines.close();
});

async function served() {
  const at = await home();
  let server = await serveEnvironment(at.environment);
  atEnd(() => server.close());
  return {
    at,
    socket: server.socket,
    async restart() {
      await server.close();
      await at.restart();
      server = await serveEnvironment(at.environment);
    },
    close: () => server.close(),
  };
}

/** Lines of a live connection on a bare socket, compressed. */
function follow(socket: string, path: string) {
  const lines: ThreadLiveLine[] = [];
  let rest = "";
  const response = new RawResponse(socket, { path, acceptEncoding: "br" }, (text) => {
    const parts = (rest + text).split("\n");
    rest = parts.pop() ?? "";
    lines.push(...parts.map((part) => JSON.parse(part) as ThreadLiveLine));
  });
  return { response, lines };
}

test("over HTTP, patches go on where a client was before the environment was started anew, without a gap or a repeat", async () => {
  const { at, socket, restart } = await served();
  const threadId = await at.thread("one");
  let view = await viewOf(at.environment, threadId);
  for (const text of ["two", "three"]) {
    const { response, lines } = follow(socket, `/v1/threads/${threadId}/live?after=${view.commit}`);
    await expect.poll(() => lines.some(isSynchronized)).toBe(true);
    const { runId } = await at.send({ type: "thread.send", threadId, text });
    await at.environment.runs.wait(runId);
    await expect.poll(() => lines.some(ended), { timeout: 10_000 }).toBe(true);
    expect(response.headers.get("content-encoding")).toBe("br");
    await restart();
    await response.ended.promise;
    view = patches(lines).reduce(applyThreadPatch, view);
  }
  const now = await viewOf(at.environment, threadId);
  expect({ ...view, commit: now.commit }).toEqual(now);
});

test("a client that knows of later commits than there are is told that the store is another", async () => {
  const { at, socket } = await served();
  const threadId = await at.thread("one");
  for (const path of [`/v1/threads/${threadId}/live`, "/v1/live"]) {
    const texts: string[] = [];
    const response = new RawResponse(socket, { path: `${path}?after=${at.environment.lastCommit + 1}`, acceptEncoding: null }, (text) =>
      texts.push(text),
    );
    await response.ended.promise;
    expect(response.status).toBe(409);
    expect(JSON.parse(texts.join(""))).toMatchObject({
      code: "invalid_request",
      reason: "ahead_of_store",
      details: { lastCommit: at.environment.lastCommit },
    });
  }
});

test("closing the server ends live connections whole: their last byte is there, and the compressed stream has its end", async () => {
  const { at, socket, close } = await served();
  const threadId = await at.thread("one");
  const { response, lines } = follow(socket, `/v1/threads/${threadId}/live?after=0`);
  await expect.poll(() => lines.some(isSynchronized)).toBe(true);
  const began = performance.now();
  await close();
  await response.ended.promise;
  expect(performance.now() - began).toBeLessThan(5_000);
  expect(response.isWhole).toBe(true);
});

test("clients that go away in the middle of a message, or want the head alone, leave nothing behind", async () => {
  const at = await home();
  let listening = 0;
  const { sync } = at.environment;
  const counted = Object.create(at.environment, {
    sync: {
      value: {
        ...sync,
        onCommit(listener: (commit: number) => void) {
          listening += 1;
          const stop = sync.onCommit(listener);
          return () => {
            listening -= 1;
            stop();
          };
        },
      },
    },
  }) as Environment;
  const server = await serveEnvironment(counted);
  atEnd(() => server.close());
  const threadId = await at.thread("one");
  for (let n = 0; n < 20; n += 1) {
    const rude = connect({ path: server.socket });
    const method = n % 4 === 3 ? "HEAD" : "GET";
    rude.write(`${method} /v1/threads/${threadId}/live?after=0 HTTP/1.1\r\nhost: localhost\r\naccept-encoding: br\r\n\r\n`);
    if (n % 2 === 1) await new Promise((resolve) => rude.once("data", resolve));
    rude.destroy();
  }
  const { response, lines } = follow(server.socket, `/v1/threads/${threadId}/live?after=0`);
  await expect.poll(() => lines.some(isSynchronized)).toBe(true);
  await expect.poll(() => listening).toBe(1);
  response.close();
  await expect.poll(() => listening).toBe(0);
});
