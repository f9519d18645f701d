import fc from "fast-check";
import { expect, test } from "vitest";
import type { ThreadBundle } from "../../../schemas/bundle.ts";
import type { ThreadId } from "../../../schemas/ids.ts";
import { bundleText, readBundle, sealedBundle } from "../../../services/runtime/bundles/text.ts";
import { startEnvironment, type TestEnvironment, until } from "../../support/environments.ts";

const script = {
  rules: [
    { match: { contains: "fail" }, steps: [{ fail: { message: "as the script says" } }] },
    { match: { contains: "hang" }, steps: [{ hang: true }] },
    { match: { contains: "large" }, steps: [{ text: "rope ".repeat(20_000) }] },
    {
      match: { contains: "approve" },
      steps: [{ approval: { text: "rm -rf build", question: "command" }, onAccept: [{ text: "removed" }] }],
    },
    {
      match: { contains: "work" },
      steps: [
        { command: { command: "make", output: "built\u001b[0m", exitCode: 0 } },
        { tool: { name: "search", arguments: { q: 1 }, result: "found", ok: true } },
        { reasoning: "hm" },
        { text: "worked" },
      ],
    },
    { match: { regex: "codeword is (\\w+)" }, steps: [{ text: "noted $1" }] },
  ],
};
const scripts = { p1: script, p2: script };

/** A fork with all that a conversation can have. */
async function richThread(env: TestEnvironment): Promise<ThreadId> {
  const parent = await env.newThread({ title: "parent" });
  await env.say(parent, "the codeword is walnut");
  await env.say(parent, "please work");
  const { threadId } = await env.send({ type: "thread.fork", threadId: parent, at: { kind: "latest_stable" }, title: "rich" });
  await env.say(parent, "not inherited");
  await env.say(threadId, "say something large");
  await env.say(threadId, "now fail");
  const { runId } = await env.send({ type: "thread.send", threadId, text: "approve this" });
  const request = await until(() => env.runs.get(runId)?.openRequests[0], "the approval");
  await env.send({ type: "run.answer", runId, requestId: request.requestId, answer: "accept" });
  await env.ended(runId);
  await env.send({ type: "thread.switch", threadId, provider: { instance: "p2", model: null } });
  await env.say(threadId, "hello p2");
  const { threadId: child } = await env.send({ type: "thread.fork", threadId, at: { kind: "latest_stable" } });
  await env.say(child, "on a branch");
  await env.send({ type: "thread.merge_back", threadId: child });
  await env.say(threadId, "with what was merged");
  const { taskId } = await env.send({ type: "task.spawn", parentThreadId: threadId, prompt: "do a thing" });
  await env.tasks.wait(taskId, { timeoutMs: 20_000 });
  await env.say(threadId, "with the result");
  await env.say(threadId, "taken back");
  await env.send({ type: "thread.undo", threadId });
  await env.send({ type: "thread.mark", threadId, mark: "pinned", on: true });
  return threadId;
}

/** What a person sees, without any id. */
function projection(env: TestEnvironment, id: ThreadId): unknown {
  const thread = env.threads.get(id);
  const texts = (body: object) =>
    JSON.parse(
      JSON.stringify(body, (key, value) =>
        /Id$/.test(key) && typeof value === "string" && /^(thread|run|transfer|handoff|task|item):/.test(value) ? "an id" : value,
      ),
    );
  return {
    title: thread?.title,
    marks: thread?.marks,
    createdAt: thread?.createdAt,
    provider: thread?.provider,
    preferred: thread?.preferred,
    items: env.threads
      .items(id)
      .map(({ runOrdinal, truncated, createdAt, inherited, body }) => ({ runOrdinal, truncated, createdAt, inherited, ...texts(body) })),
    runs: env.threads.runs(id).map(({ ordinal, status, createdAt, endedAt, error, provider, takenBackFrom }) => ({
      ordinal,
      status,
      createdAt,
      endedAt,
      error,
      provider,
      takenBackFrom,
    })),
    checkpoints: env.threads.checkpoints(id).map(({ ordinal, createdAt }) => ({ ordinal, createdAt })),
    transfers: env.transfers
      .list({ target: id })
      .map(({ type, status, createdAt, consumedAt, resolution }) => ({ type, status, createdAt, consumedAt, kind: resolution?.kind })),
    handoffs: env.transfers
      .list({ target: id })
      .flatMap((t) => env.transfers.handoffsOf(t.id))
      .map(({ kind, payload, digest, size, createdAt }) => ({ kind, payload, digest, size, createdAt })),
    tasks: env.threads.tasks(id).map(({ title, status, createdAt, endedAt }) => ({ title, status, createdAt, endedAt })),
  };
}

const exported = (env: TestEnvironment, id: ThreadId): ThreadBundle => {
  const bundle = env.threads.bundle(id);
  if (bundle === null) throw new Error("nothing was exported");
  return bundle;
};
const importInto = (env: TestEnvironment, bundle: ThreadBundle, more: object = {}) =>
  env.send({ type: "thread.import_bundle", bundle: JSON.parse(JSON.stringify(bundle)) as ThreadBundle, ...more });

test("a thread with everything in it is the same there: equal projections, equal digests, and again back", async () => {
  const [home, away] = [await startEnvironment({ scripts }), await startEnvironment({ scripts, name: "away" })];
  const id = await richThread(home);
  const bundle = exported(home, id);
  expect(new Set(bundle.records.map(({ kind }) => kind))).toEqual(
    new Set(["thread", "run", "checkpoint", "transfer", "handoff", "task", "item", "blob"]),
  );
  const { threadId, created } = await importInto(away, bundle);
  expect(created).toBe(true);
  expect(projection(away, threadId)).toEqual(projection(home, id));
  const second = exported(away, threadId);
  expect(second.end.content).toBe(bundle.end.content);
  expect(second.header).toMatchObject({ environmentId: away.id, threadId });

  // The same again makes nothing new, whatever its command id; only when that is asked for.
  const before = away.lastCommit;
  const counts = away.health().counts;
  expect(await importInto(away, bundle)).toMatchObject({ threadId, created: false });
  expect(away.health().counts).toEqual(counts);
  expect(away.lastCommit).toBeLessThanOrEqual(before + 1);
  expect((await importInto(away, bundle, { again: "x" })).threadId).not.toBe(threadId);

  const back = await importInto(home, second);
  expect(back.created).toBe(true);
  expect(back.threadId).not.toBe(id);
  expect(projection(home, back.threadId)).toEqual(projection(home, id));
  expect(exported(home, back.threadId).end.content).toBe(bundle.end.content);
  // The original is as it was, and only the thread itself is in the list.
  expect(exported(home, id).end.content).toBe(bundle.end.content);
  expect(away.threads.list().filter((t) => t.title === "parent")).toEqual([]);
  // It survives a restart, and every record can be read.
  const again = await away.restart();
  expect(exported(again, threadId).end.content).toBe(bundle.end.content);
  expect(again.health().setAside).toEqual([]);
});

test("an imported thread goes on: sent to, told its history and never a session that lives elsewhere, forked at any run, switched", async () => {
  const [home, away] = [await startEnvironment({ scripts }), await startEnvironment({ scripts, name: "away" })];
  const id = await richThread(home);
  const { threadId } = await importInto(away, exported(home, id));
  const run = await away.say(threadId, "what was it?");
  expect(run).toMatchObject({ status: "completed", ordinal: (home.threads.get(id)?.lastOrdinal ?? 0) + 1 });
  const told = JSON.stringify(away.inputs("p2"));
  for (const text of ["the codeword is walnut", "hello p2", "removed"]) expect(told).toContain(text);
  expect(told).not.toContain("taken back");
  expect(told).not.toContain("not inherited");
  expect(away.inputs("p2").map(({ opened }) => opened)).toEqual(["new"]);

  await away.say(threadId, "and now p1", { provider: { instance: "p1", model: null } });
  expect(JSON.stringify(away.inputs("p1"))).toContain("walnut");
  for (const at of away.threads.runs(threadId).filter((r) => r.status === "completed")) {
    const fork = await away.send({ type: "thread.fork", threadId, at: { kind: "run", runId: at.id } });
    expect(away.threads.items(fork.threadId).at(-2)?.runOrdinal ?? 0).toBeLessThanOrEqual(at.ordinal);
  }
  const inherited = away.threads.items(threadId).find((item) => item.inherited && item.runId !== null);
  const fork = await away.send({ type: "thread.fork", threadId, at: { kind: "run", runId: inherited?.runId as never } });
  expect((await away.say(fork.threadId, "go on from there")).status).toBe("completed");
});

test("a thread that runs is exported as far as it is stable, and says what is not in it", async () => {
  const [home, away] = [await startEnvironment({ scripts }), await startEnvironment({ scripts, name: "away" })];
  const id = await home.newThread();
  await home.say(id, "the codeword is hazel");
  const { runId } = await home.send({ type: "thread.send", threadId: id, text: "hang" });
  await until(() => home.runs.get(runId)?.status === "running", "the run");
  await home.send({ type: "thread.send", threadId: id, text: "queued" });
  const bundle = exported(home, id);
  expect(bundle.header.unfinishedRuns).toBe(2);
  expect(bundleText(bundle)).not.toContain("hang");
  const { threadId } = await importInto(away, bundle);
  expect(away.threads.get(threadId)).toMatchObject({ status: "idle", lastOrdinal: 1, queue: [] });
  expect((await away.say(threadId, "go on")).status).toBe("completed");
});

test("a bundle with another byte, line or order is refused with its reason, and nothing is written", async () => {
  const [home, away] = [await startEnvironment({ scripts }), await startEnvironment({ scripts, name: "away" })];
  const id = await home.newThread({ title: "small é" });
  await home.say(id, "the codeword is alder");
  await home.say(id, "please work");
  const text = bundleText(exported(home, id));
  expect(readBundle(text)).toMatchObject({ ok: true });
  const before = away.health().counts;
  const bytes = Buffer.from(text);
  const lines = text.split("\n").slice(0, -1);
  const place = fc.nat({ max: lines.length - 1 });
  const changed = fc.oneof(
    fc.tuple(fc.nat({ max: bytes.length - 1 }), fc.integer({ min: 1, max: 255 })).map(([at, by]) => {
      const other = Buffer.from(bytes);
      other[at] = (other[at] as number) ^ by;
      return other.toString("utf8");
    }),
    place.map((at) => join(lines.filter((_, i) => i !== at))),
    place.map((at) => join(lines.flatMap((line, i) => (i === at ? [line, line] : [line])))),
    fc.tuple(place, place).map(([a, b]) => join(lines.map((line, i) => (lines[i === a ? b : i === b ? a : i] as string) ?? line))),
    fc.nat({ max: bytes.length - 1 }).map((to) => bytes.subarray(0, to).toString("utf8")),
    fc.constantFrom(`${text}\n`, ` ${text}`, text.replace("\n", "\r\n"), `${text}${text}`),
  );
  fc.assert(
    fc.property(changed, (other) => {
      if (other === text) return;
      const read = readBundle(other);
      expect(read).toMatchObject({ ok: false, refusal: { code: "invalid_request", hint: expect.any(String) } });
      if (!read.ok) expect(["bundle_damaged", "bundle_newer", "not_a_bundle"]).toContain(read.refusal.reason);
    }),
    { numRuns: 400 },
  );
  // The environment looks for itself.
  const bundle = exported(home, id);
  const [first, second] = bundle.records;
  const spoilt: ThreadBundle[] = [
    { ...bundle, records: bundle.records.slice(1) },
    { ...bundle, records: [...bundle.records].reverse() },
    { ...bundle, header: { ...bundle.header, environmentName: "other" } },
    { ...bundle, end: { ...bundle.end, records: bundle.end.records + 1 } },
    // Sealed anew, but what it says cannot be.
    sealedBundle(bundle.header, bundle.records.slice(1)),
    sealedBundle(bundle.header, [...bundle.records, second as never]),
    sealedBundle(
      bundle.header,
      bundle.records.map((r) => (r.kind === "run" ? { ...r, data: { ...r.data, status: "running" } } : r)),
    ),
    sealedBundle(
      bundle.header,
      bundle.records.map((r) => (r.kind === "item" ? { ...r, data: { ...r.data, threadId: away.id } } : r)),
    ),
    sealedBundle(
      bundle.header,
      bundle.records.map((r) => (r.kind === "item" ? { ...r, data: { ...r.data, runId: "run/0/99" } } : r)),
    ),
    sealedBundle({ ...bundle.header, parts: [...bundle.header.parts, ...bundle.header.parts] }, [first as never, ...bundle.records]),
  ];
  for (const other of spoilt) await expect(importInto(away, other)).rejects.toMatchObject({ refusal: { reason: "bundle_damaged" } });
  // Only that it was refused is in the store.
  expect(away.health().counts).toEqual(before);
  expect(away.changes(0, 100)).toEqual([]);
});

test("no bundle can put anything into a thread that is here", async () => {
  const env = await startEnvironment({ scripts });
  const [id, victim] = [await env.newThread(), await env.newThread()];
  await env.say(id, "hello");
  await env.say(victim, "mine");
  const bundle = exported(env, id);
  for (const kind of ["run", "item", "checkpoint"] as const) {
    const records = bundle.records.map((r) => (r.kind === kind ? { ...r, data: { ...r.data, threadId: victim } } : r));
    await expect(importInto(env, sealedBundle(bundle.header, records))).rejects.toMatchObject({ refusal: { reason: "bundle_damaged" } });
  }
  expect(env.threads.runs(victim)).toHaveLength(1);
});

test("a newer version, and what is no bundle, are refused with what to do", () => {
  expect(readBundle('{"format":"ropewalk-thread","version":2}\n')).toMatchObject({
    ok: false,
    refusal: { reason: "bundle_newer", hint: expect.stringContaining("npm i -g ropewalk@latest") },
  });
  for (const text of ["", "{}", '{"format":"other","version":1}\n', "[1]\n", "not json\n"])
    expect(readBundle(text)).toMatchObject({ ok: false, refusal: { reason: "not_a_bundle" } });
});

test("only a person imports a bundle, and it brings no broader modes than a new thread has here", async () => {
  const [home, away] = [await startEnvironment({ scripts }), await startEnvironment({ scripts, name: "away" })];
  const id = await home.newThread({ runtimeMode: "full-access" });
  await home.say(id, "hello");
  const bundle = exported(home, id);
  const { threadId } = await importInto(away, bundle);
  expect(away.threads.get(threadId)?.modes.runtimeMode).toBe("auto-accept-edits");
  const own = await away.newThread();
  const receipt = await away.dispatch({ type: "thread.import_bundle", bundle }, { caller: { kind: "thread", threadId: own, runId: null } });
  expect(receipt).toMatchObject({ ok: false, refusal: { code: "capability_denied", reason: "not_for_programs" } });
});

const join = (lines: readonly string[]) => lines.map((line) => `${line}\n`).join("");
