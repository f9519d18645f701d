import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, readdirSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import type { NativeRef } from "../../../../schemas/provider.ts";
import type { ProviderAdapter } from "../../../../services/providers/contract.ts";
import { nextAttempt, openFork, openNew, openResume, rig, say, start } from "./rig.ts";

const knows = { rules: [{ match: { contains: "codeword?" }, steps: [{ recall: "CW-\\w+" }] }] };
const look = (adapter: ProviderAdapter, attemptId: string) => adapter.lookup({ cwd: "/", threadId: "t", nativeRef: null, attemptId });

function strong(ref: NativeRef | null): NativeRef {
  if (ref === null) throw new Error("no native turn ref");
  return ref;
}

test("a conversation is resumed by a new process with all that it knew", async () => {
  const { adapter, dir, inputs } = rig(knows);
  const before = adapter();
  const session = await openNew(before, dir);
  await say(session, "remember CW-blue", ["and the other one is CW-red"]);
  await before.close();
  const again = await openResume(adapter(), dir, session.nativeRef);
  expect(again.nativeRef).toEqual(session.nativeRef);
  expect((await say(again, "codeword?")).texts).toEqual(["CW-red"]);
  expect(inputs().map(({ opened, turn }) => ({ opened, turn }))).toEqual([
    { opened: "new", turn: 1 },
    { opened: "resume", turn: 2 },
  ]);
});

test("what a conversation was never told it does not know", async () => {
  const { adapter, dir } = rig(knows);
  const made = adapter();
  await say(await openNew(made, dir), "remember CW-blue");
  expect((await say(await openNew(made, dir), "codeword?")).texts).toEqual(["I do not know"]);
});

test("F01 F06 F07 a fork knows everything up to and including its turn, nothing after it, and so does every further fork", async () => {
  const { adapter, dir, inputs } = rig({
    rules: [{ match: { contains: "later?" }, steps: [{ recall: "LATER-\\w+" }] }, ...knows.rules],
  });
  const made = adapter();
  const source = await openNew(made, dir);
  await say(source, "remember CW-blue");
  const at = strong((await say(source, "go on")).turnRef);
  await say(source, "and LATER-red");
  for (let i = 0; i < 3; i += 1) {
    const fork = await openFork(made, dir, source.nativeRef, at);
    expect(fork.nativeRef.id).not.toBe(source.nativeRef.id);
    expect((await say(fork, "codeword?")).texts).toEqual(["CW-blue"]);
    expect((await say(fork, "later?")).texts).toEqual(["I do not know"]);
  }
  const forked = inputs().filter(({ opened }) => opened === "fork");
  expect(forked).toHaveLength(3);
  for (const input of forked) expect(input).toMatchObject({ turn: 3, forkedFrom: { native: source.nativeRef.id, turn: at.id } });
});

test("F02 a fork gives its source no new turn", async () => {
  const { adapter, dir, inputs } = rig(knows);
  const made = adapter();
  const source = await openNew(made, dir);
  const at = strong((await say(source, "one")).turnRef);
  await say(await openFork(made, dir, source.nativeRef, at), "two, CW-fork");
  expect((await say(source, "codeword?")).texts).toEqual(["I do not know"]);
  expect(inputs().filter(({ native }) => native === source.nativeRef.id)).toHaveLength(2);
});

test("F04 a fork of a fork at an inherited turn works from either conversation, after a restart too", async () => {
  const { adapter, dir } = rig(knows);
  const before = adapter();
  const source = await openNew(before, dir);
  const at = strong((await say(source, "remember CW-blue")).turnRef);
  const fork = await openFork(before, dir, source.nativeRef, at);
  await say(fork, "something of the fork");
  await before.close();
  const after = adapter();
  for (const native of [source.nativeRef, fork.nativeRef]) {
    expect((await say(await openFork(after, dir, native, at), "codeword?")).texts).toEqual(["CW-blue"]);
  }
});

test("a fork at an unknown turn, a running one or one that did not complete is impossible, and says so", async () => {
  const { adapter, dir } = rig({
    rules: [
      { match: { contains: "fail" }, steps: [{ fail: { message: "no" } }] },
      { match: { contains: "hang" }, steps: [{ hang: true }] },
    ],
  });
  const made = adapter();
  const source = await openNew(made, dir);
  const failed = strong((await say(source, "fail")).turnRef);
  const running = await start(source, "hang");
  const unknown: NativeRef = { id: `${source.nativeRef.id}.t9`, strength: "strong" };
  const cases = [
    [unknown, "native_turn_unknown"],
    [failed, "native_turn_incomplete"],
    [strong(running.turnRef), "native_turn_incomplete"],
  ] as const;
  for (const [turn, reason] of cases) {
    await expect(openFork(made, dir, source.nativeRef, turn)).rejects.toMatchObject({ openFailed: true, refusal: { reason } });
  }
  expect(readdirSync(join(dir, "state", "conversations"))).toHaveLength(1);
});

test("F05 a native fork that is declared can be refused when it is asked for", async () => {
  const { adapter, dir } = rig({ capabilities: { refuseFork: true } });
  const made = adapter();
  expect(made.capabilities.nativeFork).toBe("turn");
  expect(made.capabilities).not.toHaveProperty("refuseFork");
  const source = await openNew(made, dir);
  const at = strong((await say(source, "one")).turnRef);
  await expect(openFork(made, dir, source.nativeRef, at)).rejects.toMatchObject({
    openFailed: true,
    refusal: { code: "provider_unavailable", reason: "native_fork_refused" },
  });
});

test("a provider that forks at its head only refuses an earlier turn", async () => {
  const { adapter, dir } = rig({ capabilities: { nativeFork: "head" } });
  const made = adapter();
  const source = await openNew(made, dir);
  const first = strong((await say(source, "one")).turnRef);
  const last = strong((await say(source, "two")).turnRef);
  await expect(openFork(made, dir, source.nativeRef, first)).rejects.toMatchObject({ openFailed: true });
  await expect(openFork(made, dir, source.nativeRef, last)).resolves.toBeDefined();
});

test.each(["sc-00000000-0000-4000-8000-000000000000", "../inputs", "thread:0"])(
  "the conversation %s, which is not there, cannot be resumed",
  async (id) => {
    const { adapter, dir } = rig();
    const made = adapter();
    await say(await openNew(made, dir), "so that there are inputs");
    await expect(openResume(made, dir, { id, strength: "strong" })).rejects.toMatchObject({
      openFailed: true,
      refusal: { reason: "native_thread_unknown" },
    });
  },
);

test("with a writer's lock a second writer is refused until the first has let go", async () => {
  const { adapter, dir } = rig({ capabilities: { writerLock: true } });
  const made = adapter();
  const first = await openNew(made, dir);
  await expect(openResume(made, dir, first.nativeRef)).rejects.toMatchObject({ openFailed: false, refusal: { reason: "writer_locked" } });
  await first.detach();
  await expect(openResume(made, dir, first.nativeRef)).resolves.toBeDefined();
});

test("a look-up says exactly what became of an attempt, in this process and in the next", async () => {
  const { adapter, dir } = rig({
    rules: [
      { match: { contains: "fail" }, steps: [{ fail: { message: "no" } }] },
      { match: { contains: "hang" }, steps: [{ hang: true }] },
    ],
  });
  const made = adapter();
  const session = await openNew(made, dir);
  const attempts = { one: nextAttempt(), fail: nextAttempt(), hang: nextAttempt() };
  const one = await start(session, "one", { attemptId: attempts.one });
  await one.ended;
  await start(session, "fail", { attemptId: attempts.fail }).then((turn) => turn.ended);
  await start(session, "hang", { attemptId: attempts.hang });
  expect(await look(made, attempts.one)).toEqual({
    outcome: "accepted",
    nativeRef: session.nativeRef,
    turnRef: one.turnRef,
    ending: "completed",
  });
  expect(await look(made, attempts.fail)).toMatchObject({ outcome: "accepted", ending: "failed" });
  expect(await look(made, attempts.hang)).toMatchObject({ outcome: "accepted", ending: null });
  expect(await look(made, "attempt:never")).toEqual({ outcome: "absent" });
  // A second adapter on the folder reads what a new process would.
  const next = adapter();
  expect(await look(next, attempts.one)).toMatchObject({ outcome: "accepted", ending: "completed" });
  expect(await look(next, attempts.hang)).toMatchObject({ outcome: "accepted", ending: "interrupted" });
});

test("a script can say that nobody knows what became of an input", async () => {
  const { adapter, dir } = rig({ lookup: "unknown" });
  const made = adapter();
  const attemptId = nextAttempt();
  await start(await openNew(made, dir), "hi", { attemptId });
  expect(await look(made, attemptId)).toEqual({ outcome: "unknown" });
});

test("an input that was recorded but never confirmed is accepted for a look-up", async () => {
  const { adapter, dir } = rig({ rules: [{ match: { contains: "hold" }, steps: [{ holdAcceptMs: 3_600_000 }] }, ...knows.rules] });
  const made = adapter();
  const session = await openNew(made, dir);
  const giveUp = new AbortController();
  const attemptId = nextAttempt();
  const starting = start(session, "hold CW-held", { attemptId, signal: giveUp.signal });
  await expect.poll(() => look(made, attemptId)).toMatchObject({ outcome: "accepted", ending: null });
  giveUp.abort();
  await expect(starting).rejects.toMatchObject({ refusal: { reason: "start_aborted" } });
  expect(await look(made, attemptId)).toMatchObject({ outcome: "accepted", ending: "interrupted" });
  expect((await say(session, "codeword?")).texts).toEqual(["CW-held"]);
});

test("a line that a crash cut off is as if it had not been written", async () => {
  const { adapter, dir, inputs } = rig(knows);
  const before = adapter();
  const session = await openNew(before, dir);
  await say(session, "remember CW-blue");
  const lost = nextAttempt();
  await start(session, "remember CW-lost", { attemptId: lost }).then((turn) => turn.ended);
  await before.close();
  const file = join(dir, "state", "inputs.jsonl");
  truncateSync(file, statSync(file).size - 5);
  appendFileSync(join(dir, "state", "conversations", `${session.nativeRef.id}.jsonl`), '{"type":"it');
  const after = adapter();
  expect(await look(after, lost)).toEqual({ outcome: "absent" });
  const again = await openResume(after, dir, session.nativeRef);
  const turn = await say(again, "codeword?");
  expect(turn.texts).toEqual(["CW-blue"]);
  expect(turn.turnRef?.id).toBe(`${session.nativeRef.id}.t2`);
  expect(inputs().map(({ turn, message }) => [turn, message])).toEqual([
    [1, "remember CW-blue"],
    [2, "codeword?"],
  ]);
  await after.close();
  const reread = await openFork(adapter(), dir, session.nativeRef, strong(turn.turnRef));
  expect((await say(reread, "codeword? not lost")).texts).toEqual(["CW-blue"]);
});

test("S07 after kill -9 in a turn the conversation is there, its turn was interrupted, and it can be resumed but not forked there", async () => {
  const { adapter, dir } = rig({ rules: [{ match: { contains: "hang" }, steps: [{ text: "so far" }, { hang: true }] }, ...knows.rules] });
  const victim = spawn(process.execPath, [fileURLToPath(new URL("victim.ts", import.meta.url)), dir], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const said = await firstLine(victim);
  victim.kill("SIGKILL");
  await once(victim, "exit");
  const { nativeRef, turns } = JSON.parse(said) as { nativeRef: NativeRef; turns: NativeRef[] };
  const [completed, cut] = turns as [NativeRef, NativeRef];
  const made = adapter();
  expect(await look(made, "attempt:1")).toMatchObject({ outcome: "accepted", nativeRef, turnRef: completed, ending: "completed" });
  expect(await look(made, "attempt:2")).toMatchObject({ outcome: "accepted", nativeRef, turnRef: cut, ending: "interrupted" });
  expect(await look(made, "attempt:3")).toEqual({ outcome: "absent" });
  await expect(openFork(made, dir, nativeRef, cut)).rejects.toMatchObject({ openFailed: true });
  expect((await say(await openFork(made, dir, nativeRef, completed), "codeword?")).texts).toEqual(["CW-blue"]);
  expect((await say(await openResume(made, dir, nativeRef), "codeword?")).texts).toEqual(["CW-blue"]);
});

async function firstLine(process: ChildProcess): Promise<string> {
  let text = "";
  for await (const chunk of process.stdout ?? []) {
    text += String(chunk);
    if (text.includes("\n")) break;
  }
  return text;
}
