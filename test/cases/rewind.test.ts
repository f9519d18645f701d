import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { ThreadId } from "../../schemas/ids.ts";
import { startEnvironment, type TestEnvironment, type TestOptions } from "../support/environments.ts";

/** Answers `knows?` with every number that its conversation was ever told, in order. */
const script = (capabilities: Record<string, unknown>) => ({
  capabilities,
  rules: [
    { match: { contains: "LAST?" }, steps: [{ recall: "<4>" }] },
    { match: { contains: "FAIL" }, steps: [{ fail: { message: "as the script says" } }] },
  ],
});
const inPlace = script({ rewind: "inPlace" });

const start = (more: TestOptions = {}) => startEnvironment({ scripts: { p1: inPlace, p2: null }, ...more });

/** A thread with runs `<1>` to `<n>`. */
async function withRuns(env: TestEnvironment, count: number): Promise<ThreadId> {
  const thread = await env.newThread();
  for (let n = 1; n <= count; n += 1) await env.say(thread, `remember <${n}>`);
  return thread;
}

/** The runs that a native conversation of the scripted provider holds, by their numbers, as its own file tells. */
function held(env: TestEnvironment, dir: string, threadId: ThreadId, instance = "p1"): string[] {
  const native = env.threads.providerThreads(threadId).findLast((p) => p.instance === instance)!.nativeRef.id;
  return heldIn(dir, native, instance);
}

function heldIn(dir: string, native: string, instance = "p1"): string[] {
  const turns = new Map<string, string>();
  for (const line of readFileSync(join(dir, "providers", instance, "conversations", `${native}.jsonl`), "utf8").split("\n")) {
    if (line === "") continue;
    const record = JSON.parse(line) as { type: string; turn: string; to: string; message: string };
    if (record.type === "turn") turns.set(record.turn, record.message);
    if (record.type === "rewound") for (const id of [...turns.keys()].slice([...turns.keys()].indexOf(record.to) + 1)) turns.delete(id);
  }
  return [...turns.values()];
}

const lastInput = (env: TestEnvironment, instance = "p1") => env.inputs(instance).at(-1)!;
const handoffs = (env: TestEnvironment, thread: ThreadId) => env.threads.transfers(thread).filter((t) => t.type === "provider_handoff");

test("what runs after an undo goes on in the same native conversation, which was taken back to the last run that stands", async () => {
  const env = await start();
  const thread = await withRuns(env, 4);
  const [, second] = env.threads.runs(thread);
  await env.send({ type: "thread.undo", threadId: thread, to: second!.id });
  const before = env.threads.providerThreads(thread);
  const run = await env.say(thread, "LAST?");
  expect(lastInput(env)).toMatchObject({ opened: "resume", native: before[0]!.nativeRef.id, rewoundTo: second!.turnRef!.id, context: [] });
  expect(held(env, env.dir, thread)).toEqual(["remember <1>", "remember <2>", "LAST?"]);
  expect(env.threads.items(thread).at(-1)?.body).toMatchObject({ content: { text: "I do not know" } });
  const [native, ...others] = env.threads.providerThreads(thread);
  expect(others).toEqual([]);
  expect(native).toMatchObject({
    cutAfter: null,
    coverage: {
      native: [
        [1, 2],
        [5, 5],
      ],
      told: [],
    },
    lastRunId: run.id,
  });
  expect(handoffs(env, thread)).toMatchObject([
    {
      status: "consumed",
      consumedByRunId: run.id,
      sourcePoint: { runId: second!.id, ordinal: 2 },
      resolution: { kind: "native_fork", inPlace: true, lastTurnRef: second!.turnRef },
    },
  ]);
  await env.say(thread, "go on");
  expect(lastInput(env)).toMatchObject({ opened: "resume", native: native!.nativeRef.id, context: [] });
  expect(handoffs(env, thread)).toHaveLength(1);
});

test("an undo that is taken back before anything ran has touched no native conversation", async () => {
  const env = await start();
  const thread = await withRuns(env, 4);
  const [first] = env.threads.runs(thread);
  await env.send({ type: "thread.undo", threadId: thread });
  await env.send({ type: "thread.undo", threadId: thread, to: first!.id });
  await env.send({ type: "thread.redo", threadId: thread });
  expect(held(env, env.dir, thread)).toHaveLength(4);
  // The last undo alone is taken back: the one before it stands.
  await env.say(thread, "LAST?");
  expect(held(env, env.dir, thread)).toEqual(["remember <1>", "remember <2>", "remember <3>", "LAST?"]);
  const other = await withRuns(env, 4);
  await env.send({ type: "thread.undo", threadId: other });
  await env.send({ type: "thread.redo", threadId: other });
  await env.say(other, "LAST?");
  expect(lastInput(env)).toMatchObject({ opened: "resume", context: [] });
  expect(lastInput(env)).not.toHaveProperty("rewoundTo");
  expect(env.threads.items(other).at(-1)?.body).toMatchObject({ content: { text: "<4>" } });
  expect(handoffs(env, other)).toEqual([]);
});

test("two undos, with a run between them or without one, are one way back each", async () => {
  const env = await start();
  const thread = await withRuns(env, 4);
  await env.send({ type: "thread.undo", threadId: thread });
  await env.send({ type: "thread.undo", threadId: thread });
  await env.say(thread, "remember <5>");
  expect(held(env, env.dir, thread)).toEqual(["remember <1>", "remember <2>", "remember <5>"]);
  await env.send({ type: "thread.undo", threadId: thread, to: env.threads.runs(thread)[0]!.id });
  await env.say(thread, "remember <6>");
  expect(held(env, env.dir, thread)).toEqual(["remember <1>", "remember <6>"]);
  expect(env.threads.providerThreads(thread)).toMatchObject([
    {
      coverage: {
        native: [
          [1, 1],
          [6, 6],
        ],
      },
    },
  ]);
});

test("F02 what a fork has natively is left alone when its source is taken back, before its first run or after it", async () => {
  const env = await start();
  const thread = await withRuns(env, 4);
  const [, , third] = env.threads.runs(thread);
  const fork = async () => (await env.send({ type: "thread.fork", threadId: thread, at: { kind: "run", runId: third!.id } })).threadId;
  const ran = await fork();
  await env.say(ran, "in the fork");
  const waiting = await fork();
  await env.send({ type: "thread.undo", threadId: thread, to: env.threads.runs(thread)[0]!.id });
  // A fork that nobody has sent to yet needs the turns that would go: so the source goes on in a fork of its own.
  await env.say(thread, "LAST?");
  expect(lastInput(env)).toMatchObject({ opened: "fork", context: [] });
  await env.say(waiting, "in the other");
  expect(held(env, env.dir, waiting)).toEqual(["remember <1>", "remember <2>", "remember <3>", "in the other"]);
  // Now nobody needs them.
  await env.send({ type: "thread.undo", threadId: thread });
  await env.say(thread, "again");
  expect(held(env, env.dir, thread)).toEqual(["remember <1>", "again"]);
  await env.say(ran, "go on");
  expect(held(env, env.dir, ran)).toEqual(["remember <1>", "remember <2>", "remember <3>", "in the fork", "go on"]);
});

test("F01 a fork keeps what it was made with, also when it is retold after its source took that back", async () => {
  const env = await start();
  const thread = await withRuns(env, 2);
  await env.send({ type: "thread.undo", threadId: thread });
  await env.say(thread, "remember <3>");
  const { threadId: fork } = await env.send({ type: "thread.fork", threadId: thread, at: { kind: "latest_stable" } });
  await env.send({ type: "thread.undo", threadId: thread, to: null });
  await env.say(fork, "in the fork", { provider: { instance: "p2", model: null } });
  const told = lastInput(env, "p2").context.join("\n");
  expect(["<1>", "<2>", "<3>"].map((n) => told.includes(n))).toEqual([true, false, true]);
});

test("H10 a provider that comes back after an undo is taken back, and told exactly what it missed", async () => {
  const env = await start();
  const thread = await withRuns(env, 2);
  const [first] = env.threads.runs(thread);
  await env.say(thread, "remember <3>", { provider: { instance: "p2", model: null } });
  await env.send({ type: "thread.undo", threadId: thread, to: first!.id });
  await env.say(thread, "remember <4>", { provider: { instance: "p2", model: null } });
  // Nothing that the other had served stands: it begins anew, and is told what stands.
  expect(lastInput(env, "p2")).toMatchObject({ opened: "new", context: [expect.stringContaining("<1>")] });
  expect(lastInput(env, "p2").context.join()).not.toMatch(/<[23]>/);
  const run = await env.say(thread, "back", { provider: { instance: "p1", model: null } });
  expect(lastInput(env)).toMatchObject({ opened: "resume", rewoundTo: first!.turnRef!.id, context: [expect.stringContaining("<4>")] });
  expect(lastInput(env).context.join()).not.toMatch(/<[123]>/);
  expect(held(env, env.dir, thread)).toEqual(["remember <1>", "back"]);
  expect(env.threads.providerThreads(thread).find((p) => p.instance === "p1")?.coverage).toMatchObject({
    native: [
      [1, 1],
      [run.ordinal, run.ordinal],
    ],
    told: [[4, 4]],
  });
});

test("what a run was told goes with it: after its undo it is told again", async () => {
  const env = await start();
  const thread = await withRuns(env, 1);
  await env.say(thread, "remember <2>", { provider: { instance: "p2", model: null } });
  await env.say(thread, "remember <3>", { provider: { instance: "p1", model: null } });
  expect(lastInput(env).context.join()).toContain("<2>");
  await env.send({ type: "thread.undo", threadId: thread });
  await env.say(thread, "remember <4>");
  expect(lastInput(env)).toMatchObject({ opened: "resume", context: [expect.stringContaining("<2>")] });
  expect(held(env, env.dir, thread)).toEqual(["remember <1>", "remember <4>"]);
});

test("where nothing stands the next run begins a conversation anew; a fork keeps what it inherited natively", async () => {
  const env = await start();
  const thread = await withRuns(env, 2);
  const { threadId: fork } = await env.send({ type: "thread.fork", threadId: thread, at: { kind: "latest_stable" } });
  await env.say(fork, "remember <5>");
  await env.say(fork, "remember <6>");
  await env.send({ type: "thread.undo", threadId: fork, to: null });
  await env.say(fork, "remember <7>");
  expect(lastInput(env)).toMatchObject({ opened: "resume", context: [] });
  expect(held(env, env.dir, fork)).toEqual(["remember <1>", "remember <2>", "remember <7>"]);
  await env.send({ type: "thread.undo", threadId: fork, to: null });
  await env.say(fork, "remember <8>");
  expect(lastInput(env).context).toEqual([]);
  expect(held(env, env.dir, fork)).toEqual(["remember <1>", "remember <2>", "remember <8>"]);
  await env.send({ type: "thread.undo", threadId: thread, to: null });
  await env.say(thread, "anew");
  expect(lastInput(env)).toMatchObject({ opened: "new", context: [] });
});

test("a failed run that stands is where the conversation is taken back to", async () => {
  const env = await start();
  const thread = await withRuns(env, 1);
  expect((await env.say(thread, "FAIL")).status).toBe("failed");
  await env.say(thread, "remember <3>");
  await env.send({ type: "thread.undo", threadId: thread });
  await env.say(thread, "LAST?");
  expect(lastInput(env)).toMatchObject({ opened: "resume", context: [] });
  expect(held(env, env.dir, thread)).toEqual(["remember <1>", "FAIL", "LAST?"]);
});

test("F05 a refused rewind fails its transfer and run, and keeps the message; the next send forks, and when that is refused too, retells", async () => {
  const env = await start({ scripts: { p1: { ...inPlace, capabilities: { rewind: "inPlace", refuseRewind: true, refuseFork: true } } } });
  const thread = await withRuns(env, 3);
  await env.send({ type: "thread.undo", threadId: thread });
  const refused = await env.say(thread, "TRY 1");
  expect(refused).toMatchObject({ status: "failed", acceptedAt: null, error: { reason: "native_rewind_refused" } });
  expect(env.threads.get(thread)?.status).toBe("idle");
  expect(env.threads.providerThreads(thread)).toMatchObject([{ rewindRefused: "inPlace", lost: false, cutAfter: 2 }]);
  expect(await env.say(thread, "TRY 2")).toMatchObject({ status: "failed", error: { reason: "native_fork_refused" } });
  expect((await env.say(thread, "TRY 3")).status).toBe("completed");
  const [first, second, third, ...more] = handoffs(env, thread);
  expect(more).toEqual([]);
  expect([first, second]).toMatchObject([
    { status: "superseded", error: { reason: "native_rewind_refused" }, resolution: { inPlace: true } },
    { status: "superseded", error: { reason: "native_fork_refused" }, supersedes: first!.id },
  ]);
  expect(third).toMatchObject({ status: "consumed", supersedes: second!.id, resolution: { kind: "portable_context" } });
  const told = lastInput(env).context.join("\n");
  expect(["<1>", "<2>", "<3>", "TRY 1", "TRY 2"].map((n) => told.includes(n))).toEqual([true, true, false, true, true]);
  expect(heldIn(env.dir, env.threads.providerThreads(thread)[0]!.nativeRef.id)).toHaveLength(3);
});

test("F05 a refused rewind goes on by a native fork where the provider forks", async () => {
  const env = await start({ scripts: { p1: { ...inPlace, capabilities: { rewind: "inPlace", refuseRewind: true } } } });
  const thread = await withRuns(env, 3);
  const [, second] = env.threads.runs(thread);
  await env.send({ type: "thread.undo", threadId: thread });
  await env.say(thread, "TRY 1");
  expect((await env.say(thread, "LAST?")).status).toBe("completed");
  // Only what nobody had been given is told besides.
  expect(lastInput(env)).toMatchObject({ opened: "fork", forkedFrom: { turn: second!.turnRef!.id } });
  expect(lastInput(env).context).toEqual([expect.stringContaining("TRY 1")]);
  expect(lastInput(env).context.join()).not.toContain("remember");
  expect(held(env, env.dir, thread)).toEqual(["remember <1>", "remember <2>", "LAST?"]);
  expect(env.threads.providerThreads(thread).at(-1)?.coverage).toMatchObject({
    native: [[5, 5]],
    told: [
      [1, 2],
      [4, 4],
    ],
  });
  // The fork is taken back in its turn: by a fork again where the cut lies in what it was made with.
  await env.send({ type: "thread.undo", threadId: thread, to: env.threads.runs(thread)[0]!.id });
  expect((await env.say(thread, "again")).status).toBe("completed");
  expect(lastInput(env)).toMatchObject({ opened: "fork", context: [] });
  expect(held(env, env.dir, thread)).toEqual(["remember <1>", "again"]);
});

test("R01 a start that ended after the conversation was taken back and before its input was given is made good by the next run", async () => {
  const slow = { ...inPlace, rules: [{ match: { contains: "SLOW" }, steps: [{ acceptAfterMs: 60_000 }] }, ...inPlace.rules] };
  const env = await start({ scripts: { p1: slow } });
  const thread = await withRuns(env, 4);
  await env.send({ type: "thread.undo", threadId: thread, to: env.threads.runs(thread)[1]!.id });
  const { runId } = await env.send({ type: "thread.send", threadId: thread, text: "SLOW" });
  await expect.poll(() => held(env, env.dir, thread)).toHaveLength(2);
  const again = await env.restart();
  expect(await again.ended(runId)).toMatchObject({ status: "interrupted", acceptedAt: null });
  expect(again.threads.providerThreads(thread)).toMatchObject([{ cutAfter: 2, coverage: { native: [[1, 4]] } }]);
  await again.say(thread, "LAST?");
  expect(held(again, again.dir, thread)).toEqual(["remember <1>", "remember <2>", "LAST?"]);
  expect(again.threads.providerThreads(thread)).toMatchObject([{ cutAfter: null }]);
});

test("an input that nobody knows to have been taken is out of the conversation once its run is taken back", async () => {
  const held60 = { match: { contains: "HELD" }, steps: [{ holdAcceptMs: 60_000 }] };
  const env = await start({ scripts: { p1: { ...inPlace, lookup: "unknown", rules: [held60, ...inPlace.rules] } } });
  const thread = await withRuns(env, 2);
  const { runId } = await env.send({ type: "thread.send", threadId: thread, text: "HELD <4>" });
  await expect.poll(() => env.inputs().length).toBe(3);
  const again = await env.restart();
  expect(await again.ended(runId)).toMatchObject({ status: "interrupted", error: { reason: "outcome_unknown" } });
  await again.send({ type: "thread.undo", threadId: thread });
  await again.say(thread, "LAST?");
  expect(again.threads.items(thread).at(-1)?.body).toMatchObject({ content: { text: "I do not know" } });
  expect(held(again, again.dir, thread)).toEqual(["remember <1>", "remember <2>", "LAST?"]);
});
