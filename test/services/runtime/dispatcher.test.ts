import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { PublicCommand, Receipt } from "../../../schemas/command.ts";
import type { ImportRequest } from "../../../schemas/import.ts";
import type { Refusal } from "../../../schemas/refusal.ts";
import { openMemoryStore, openStore } from "../../../services/store/sqlite-store.ts";
import { ids } from "../../support/commit-batches.ts";
import { type DispatcherRig, dispatcherRig } from "../../support/dispatcher-rig.ts";
import { temporaryFolder } from "../../support/environments.ts";
import { withDatabase } from "../../support/store-fixtures.ts";

function rig(): DispatcherRig {
  const store = openMemoryStore();
  onTestFinished(() => store.close());
  return dispatcherRig(store);
}

function refusalIn(receipt: Receipt | undefined): Pick<Refusal, "code" | "reason"> {
  if (receipt === undefined || receipt.ok) throw new Error("it was not refused");
  return { code: receipt.refusal.code, reason: receipt.refusal.reason };
}

const create = (title: string): PublicCommand => ({ type: "thread.create", title });
const importOf = (handoffId: string, texts: string[]): PublicCommand => {
  const messages: ImportRequest["messages"] = texts.map((text) => ({ role: "user", text }));
  return { type: "thread.import", import: { handoffId, sourceEnvironmentId: "elsewhere", sourceThreadId: "t", messages } };
};

describe("receipts", () => {
  test("a repeat returns the stored receipt and commits nothing", async () => {
    const r = rig();
    const id = ids.next("cmd");
    const first = await r.send(create("a"), id);
    const again = await r.send(create("a"), id);
    expect(first).toMatchObject({ ok: true, commit: 1, repeated: false });
    expect(again).toEqual({ ...first, repeated: true });
    expect(r.store.lastCommit).toBe(1);
  });

  test("a repeat is answered before anything that has changed is looked at", async () => {
    const r = rig();
    const threadId = await r.newThread();
    const id = ids.next("cmd");
    const rename: PublicCommand = { type: "thread.rename", threadId, title: "new" };
    const first = await r.send(rename, id);
    await r.send({ type: "thread.delete", threadId });
    expect(refusalIn(await r.send(rename))).toMatchObject({ code: "thread_not_found" });
    expect(await r.send(rename, id)).toEqual({ ...first, repeated: true });
  });

  test("a repeat in the same batch does nothing a second time", async () => {
    const r = rig();
    const id = ids.next("cmd");
    const [first, again] = await Promise.all([r.send(create("a"), id), r.send(create("a"), id)]);
    expect(again).toEqual({ ...first, repeated: true });
    expect(r.store.countActors("thread")).toEqual({ idle: 1 });
  });

  test("the same id with another payload is a conflict that changes nothing, in a later batch and in the same", async () => {
    const r = rig();
    const id = ids.next("cmd");
    const [first, second] = await Promise.all([r.send(create("a"), id), r.send(create("b"), id)]);
    const third = await r.send(create("c"), id);
    expect(first).toMatchObject({ ok: true });
    for (const receipt of [second, third]) expect(refusalIn(receipt)).toEqual({ code: "idempotency_conflict", reason: "command_differs" });
    expect(r.store.lastCommit).toBe(1);
    expect(await r.send(create("a"), id)).toEqual({ ...first, repeated: true });
  });

  test("the same payload is recognised whatever the order of its members", async () => {
    const r = rig();
    const id = ids.next("cmd");
    await r.send({ type: "thread.create", title: "a", runtimeMode: "auto" }, id);
    expect(await r.send({ runtimeMode: "auto", title: "a", type: "thread.create" }, id)).toMatchObject({ ok: true, repeated: true });
  });

  test("a refused id stays refused, also when the command would be accepted by now", async () => {
    const r = rig();
    const threadId = await r.newThread();
    const stop: PublicCommand = { type: "thread.interrupt", threadId };
    const id = ids.next("cmd");
    const refused = await r.send(stop, id);
    expect(refusalIn(refused)).toEqual({ code: "thread_not_interruptible", reason: "thread_idle" });
    await r.send({ type: "thread.send", threadId, text: "hello" });
    expect(await r.send(stop, id)).toEqual({ ...refused, repeated: true });
    expect(await r.send(stop)).toMatchObject({ ok: true });
    expect(await r.send(stop, id)).toEqual({ ...refused, repeated: true });
  });

  test("a refusal that depends on the outside is not stored: its id is free for whatever comes", async () => {
    const r = rig();
    const threadId = await r.newThread();
    const id = ids.next("cmd");
    const provider = { instance: "not-configured", model: null };
    const before = r.store.lastCommit;
    expect(refusalIn(await r.send({ type: "thread.send", threadId, text: "hello", provider }, id))).toMatchObject({
      code: "provider_unavailable",
    });
    expect([r.store.lastCommit, r.store.receipt(id)]).toEqual([before, null]);
    expect(await r.send({ type: "thread.send", threadId, text: "hello" }, id)).toMatchObject({ ok: true, repeated: false });
  });

  test("receipts outlive the process", async () => {
    const dir = temporaryFolder();
    const [made, refused] = [ids.next("cmd"), ids.next("cmd")];
    const unknown: PublicCommand = { type: "thread.rename", threadId: ids.next("thread"), title: "x" };
    const store = openStore(dir);
    const before = [await dispatcherRig(store).send(create("a"), made), await dispatcherRig(store).send(unknown, refused)];
    store.close();
    const again = openStore(dir);
    const r = dispatcherRig(again);
    expect([await r.send(create("a"), made), await r.send(unknown, refused)]).toEqual(before.map((b) => ({ ...b, repeated: true })));
    expect(refusalIn(await r.send(create("b"), made))).toMatchObject({ code: "idempotency_conflict" });
    expect(r.commits).toEqual([]);
    again.close();
  });

  test("a receipt that cannot be read is not taken for none: the command is not carried out a second time", async () => {
    const dir = temporaryFolder();
    const store = openStore(dir);
    onTestFinished(() => store.close());
    const r = dispatcherRig(store);
    const id = ids.next("cmd");
    await r.send(create("a"), id);
    withDatabase(join(dir, "ropewalk.db"), (db) => db.exec("update receipts set response = '{ broken'"));
    expect(refusalIn(await r.send(create("a"), id))).toEqual({ code: "orchestration_error", reason: "store_damaged" });
    expect(await r.send(create("b"))).toMatchObject({ ok: true });
    expect(store.countActors("thread")).toEqual({ idle: 2 });
  });
});

describe("commands that arrive together", () => {
  test("share one commit, which each receipt names, and are answered in the order in which they came", async () => {
    const r = rig();
    const answered: string[] = [];
    const receipts = await Promise.all(
      ["a", "b", "c", "d", "e"].map(async (title) => {
        const receipt = await r.send(create(title));
        answered.push(title);
        return receipt;
      }),
    );
    expect(r.commits.map((c) => c.commit)).toEqual([1]);
    expect(receipts.map((x) => x.ok && x.commit)).toEqual([1, 1, 1, 1, 1]);
    expect(answered).toEqual(["a", "b", "c", "d", "e"]);
    const stored = receipts.map((x) => r.store.receipt(x.commandId)?.response);
    expect(stored).toEqual(receipts);
  });

  test("are decided in the order in which they came, each on what those before it have decided", async () => {
    const r = rig();
    const threadId = await r.newThread();
    const [first, second, third, fourth] = await Promise.all([
      r.send({ type: "thread.send", threadId, text: "one" }),
      r.send({ type: "thread.send", threadId, text: "two" }),
      r.send({ type: "thread.interrupt", threadId }),
      r.send({ type: "thread.delete", threadId }),
    ]);
    expect([first, second].map((x) => x.ok && x.result.ordinal)).toEqual([1, 2]);
    expect(third.ok && (third.result.runIds as string[]).length).toBe(2);
    expect(fourth.ok ? "deleted" : fourth.refusal.reason).toMatch(/deleted|thread_running/);
    expect(r.commits.map((c) => c.commit)).toEqual([1, 2]);
  });

  test("are written in batches of bounded size, between which others get their turn", async () => {
    const r = rig();
    let turns = 0;
    let counting = true;
    const count = () => {
      turns += 1;
      if (counting) setImmediate(count);
    };
    setImmediate(count);
    const receipts = await Promise.all(Array.from({ length: 1_000 }, (_, i) => r.send(create(String(i)))));
    counting = false;
    const commits = receipts.map((x) => (x.ok ? x.commit : 0));
    const sizes = r.commits.map((c) => commits.filter((n) => n === c.commit).length);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(128);
    expect(sizes.reduce((a, b) => a + b)).toBe(1_000);
    expect(commits).toEqual(commits.toSorted((a, b) => a - b));
    expect(turns).toBeGreaterThanOrEqual(r.commits.length - 1);
    const titles = r.store.actorsBy({ kind: "thread" }).map((t) => (t.context as { title: string }).title);
    expect(titles).toEqual(Array.from({ length: 1_000 }, (_, i) => String(i)));
  });

  test("are written as soon as deciding them has taken its time, one at least with every commit", async () => {
    const store = openMemoryStore();
    onTestFinished(() => store.close());
    const r = dispatcherRig(store, { batch: { commands: 128, ms: 0 } });
    const receipts = await Promise.all(["a", "b", "c"].map((title) => r.send(create(title))));
    expect(receipts.map((x) => x.ok && x.commit)).toEqual([1, 2, 3]);
  });

  test("a refused one leaves nothing and does not disturb its neighbours, also when it had got half-way", async () => {
    const r = rig();
    const threadId = await r.newThread();
    const before = { tasks: r.store.countActors("task"), items: r.store.itemsAfterCommit(0, 99).length };
    // It has made the task and told the thread before it finds no link to that environment.
    const halfWay: PublicCommand = { type: "task.spawn", parentThreadId: threadId, prompt: "go", environmentId: ids.next("env") };
    const receipts = await Promise.all([
      r.send(create("before")),
      r.send(halfWay),
      r.send({ type: "thread.rename", threadId: ids.next("thread"), title: "x" }),
      r.send(create("after")),
    ]);
    expect(receipts.map((x) => (x.ok ? x.commit : x.refusal.reason))).toEqual([2, "no_link", "unknown_thread", 2]);
    expect({ tasks: r.store.countActors("task"), items: r.store.itemsAfterCommit(0, 99).length }).toEqual(before);
    const journal = r.store.journal({ afterCommit: 1, limit: 99 });
    expect(journal.map((j) => j.event.type)).toEqual(["thread.created", "thread.created"]);
    expect(journal.map((j) => j.index)).toEqual([0, 1]);
    expect(r.store.openEffects()).toEqual([]);
  });

  test("refusals alone commit their receipts and nothing else", async () => {
    const r = rig();
    await Promise.all([1, 2].map(() => r.send({ type: "thread.rename", threadId: ids.next("thread"), title: "x" })));
    const { receipts, ...rest } = r.commits[0]?.batch ?? { receipts: [] };
    expect(receipts).toHaveLength(2);
    expect(Object.values(rest).filter((rows) => Array.isArray(rows) && rows.length > 0)).toEqual([]);
  });

  test("an import that arrives twice with two payloads makes one thread and one conflict", async () => {
    const r = rig();
    const receipts = await Promise.all([
      r.send(importOf("h", ["a", "b"])),
      r.send(importOf("h", ["a", "c"])),
      r.send(importOf("h", ["a", "b"])),
    ]);
    expect(receipts.map((x) => (x.ok ? x.result.created : x.refusal.code))).toEqual([true, "idempotency_conflict", false]);
    expect(r.store.countActors("thread")).toEqual({ idle: 1 });
    expect(r.store.itemsAfterCommit(0, 99)).toHaveLength(2);
  });
});

describe("reports of the outside", () => {
  test("keep no receipt, and close their effects in their own commit, also when they come to nothing", async () => {
    const r = rig();
    const threadId = await r.newThread();
    await r.send({ type: "thread.send", threadId, text: "hello" });
    const [effect] = r.store.openEffects();
    if (effect === undefined || !("attemptId" in effect.request)) throw new Error("no effect");
    const { attemptId, runId } = effect.request;
    const error = { code: "provider_unavailable", reason: "gone", message: "gone", hint: "wait" } as const;
    const first = await r.report({ type: "run.unprepared", runId, attemptId, error, failed: [] }, [effect.id]);
    expect(first).toMatchObject({ ok: true });
    expect([r.store.openEffects(), r.store.receipt(first.commandId)]).toEqual([[], null]);
    expect(r.store.actor(runId)?.status).toBe("failed");
    // Late news of a run that has ended changes nothing.
    const journal = r.store.journal({ limit: 99 }).filter((j) => j.verdict === "applied").length;
    expect(await r.report({ type: "run.unprepared", runId, attemptId, error, failed: [] })).toMatchObject({ ok: true });
    expect(r.store.journal({ limit: 99 }).filter((j) => j.verdict === "applied")).toHaveLength(journal);
  });
});

test("a closed dispatcher answers what it was given before, and refuses what comes after", async () => {
  const r = rig();
  const given = r.send(create("before"));
  await r.dispatcher.close();
  expect(await given).toMatchObject({ ok: true });
  expect(refusalIn(await r.send(create("after")))).toEqual({ code: "orchestration_error", reason: "closing" });
  expect(r.store.countActors("thread")).toEqual({ idle: 1 });
});
