import { describe, expect, test } from "vitest";
import type { TurnItem } from "../../../schemas/item.ts";
import type { ActorQuery, ItemPage, Store } from "../../../services/runtime/ports/store.ts";
import {
  actorRow,
  batchOf,
  checkpointOf,
  handoffOf,
  ids,
  journalRow,
  newItem,
  outboxRow,
  positionAt,
  projectOf,
  providerThreadOf,
} from "../../support/commit-batches.ts";
import { awkward, stores } from "../../support/stores.ts";

describe.each(stores)("$name", ({ opened }) => {
  test("an empty store has no commit, an incarnation, and answers every read with nothing", () => {
    const store = opened();
    const thread = ids.next("thread");
    const link = ids.next("link");
    expect(store.lastCommit).toBe(0);
    expect(store.incarnation).toMatch(/^inc:/);
    expect([
      store.actor(thread),
      store.item(ids.next("item")),
      store.blob("00"),
      store.progress(ids.next("run")),
      store.checkpoint(ids.next("checkpoint")),
      store.handoff(ids.next("handoff")),
      store.providerThread(ids.next("pthread")),
      store.project(ids.next("project")),
      store.receipt(ids.next("cmd")),
      store.importDigest(thread),
      store.link(link),
      store.incomingRequest(ids.next("env"), ids.next("req")),
      store.outgoingRequest(ids.next("req")),
    ]).toEqual(Array.from({ length: 13 }, () => null));
    expect([
      store.actorsBy({ kind: "thread" }),
      store.setAside(),
      store.journal({ limit: 10 }),
      store.items({ threadId: thread, fromOrdinal: 0, toOrdinal: 10 }),
      store.itemsAfterCommit(0, 10),
      store.checkpointsOf(thread),
      store.handoffsOf(ids.next("transfer")),
      store.providerThreadsOf(thread),
      store.projects(),
      store.openEffects(),
      store.effectsSetAside(),
      store.outbox(link, positionAt(1, 0), 10),
      store.openRequests(),
      store.keptMessages(link),
    ]).toEqual(Array.from({ length: 14 }, () => []));
    expect([store.countBy({ kind: "run" }), store.outboxCount(link), store.countActors("run")]).toEqual([0, 0, {}]);
  });

  test("commits are numbered from 1 without a gap", () => {
    const store = opened();
    expect([store.commit(batchOf({})), store.commit(batchOf({})), store.lastCommit]).toEqual([1, 2, 2]);
  });

  test("a commit that fails at its last row leaves nothing of any row, takes no number, and harms no later commit", () => {
    const store = opened();
    const thread = ids.next("thread");
    const first = newItem(thread);
    const outbox = outboxRow(ids.next("link"), 1, 1);
    store.commit(batchOf({ items: [first], outbox: [outbox] }));
    const run = actorRow();
    const receipt = { commandId: ids.next("cmd"), digest: "d", response: {} };
    const all = batchOf({
      journal: [journalRow(run.id)],
      actors: [run],
      items: [newItem(thread)],
      blobs: [{ digest: "b", bytes: new Uint8Array([1]) }],
      receipts: [receipt],
      effects: [{ id: ids.next("effect"), request: { kind: "thread.wake", policy: "repeatable", threadId: thread } }],
      // This row is there already.
      outbox: [outbox],
    });
    expect(() => store.commit(all)).toThrow();
    expect(store.lastCommit).toBe(1);
    expect([store.actor(run.id), store.blob("b"), store.receipt(receipt.commandId)]).toEqual([null, null, null]);
    expect([store.journal({ limit: 9 }), store.openEffects()]).toEqual([[], []]);
    expect(store.itemsAfterCommit(0, 9).map((i) => i.item.id)).toEqual([first.id]);
    expect(store.commit({ ...all, outbox: [] })).toBe(2);
    expect(store.actor(run.id)).toEqual(run);
    expect(store.itemsAfterCommit(0, 9).map((i) => i.item.position)).toEqual([1, 2]);
  });

  test("an actor comes back as it was put, and each later put replaces it", () => {
    const store = opened();
    const run = actorRow({ context: { text: awkward, deep: [{ a: null }] }, owner: ids.next("thread"), peer: "p", ordinal: null });
    store.commit(batchOf({ actors: [run] }));
    expect(store.actor(run.id)).toEqual(run);
    const later = { ...run, seq: 2, state: "completed", status: "completed", context: {}, owner: null, peer: null, ordinal: 7 };
    store.commit(batchOf({ actors: [later] }));
    expect(store.actor(run.id)).toEqual(later);
    expect(store.countActors("run")).toEqual({ completed: 1 });
  });

  test("actors are found by owner, peer, status and ordinal, in order of ordinal and then id, either way, up to a limit", () => {
    const store = opened();
    const [s, t] = [ids.next("thread"), ids.next("thread")];
    const rows = [3, 1, 2, 2].map((ordinal, i) =>
      actorRow({ owner: i === 0 ? t : s, peer: i < 2 ? "p" : null, ordinal, status: i === 3 ? "failed" : "running" }),
    );
    const transfer = actorRow({ id: ids.next("transfer"), kind: "transfer", owner: s, ordinal: 2 });
    store.commit(batchOf({ actors: [...rows, transfer] }));
    const found = (query: Omit<ActorQuery, "kind">) =>
      store.actorsBy({ kind: "run", ...query }).map((r) => rows.findIndex((x) => x.id === r.id));
    const expected: [Omit<ActorQuery, "kind">, number[]][] = [
      [{}, [1, 2, 3, 0]],
      [{ newestFirst: true }, [0, 3, 2, 1]],
      [{ limit: 2 }, [1, 2]],
      [{ newestFirst: true, limit: 1 }, [0]],
      [{ owner: s }, [1, 2, 3]],
      [{ owner: s, peer: "p" }, [1]],
      [{ peer: "p" }, [1, 0]],
      [{ owner: s, statuses: ["failed", "completed"] }, [3]],
      [{ statuses: [] }, []],
      [{ minOrdinal: 2 }, [2, 3, 0]],
      [{ owner: s, minOrdinal: 2, maxOrdinal: 2 }, [2, 3]],
      [{ owner: "nobody" }, []],
    ];
    for (const [query, who] of expected) {
      expect(found(query), JSON.stringify(query)).toEqual(who);
      if (query.limit === undefined) expect(store.countBy({ kind: "run", ...query }), JSON.stringify(query)).toBe(who.length);
    }
    expect(store.countActors("run")).toEqual({ running: 3, failed: 1 });
  });

  test("the journal is read in commit order, whole or for one actor, after a commit, up to a limit", () => {
    const store = opened();
    const [a, b] = [ids.next("run"), ids.next("run")];
    const event = { type: "run.ended", at: 5, eid: "e", text: awkward };
    store.commit(batchOf({ journal: [journalRow(b), journalRow(a)] }));
    store.commit(
      batchOf({
        journal: [journalRow(a, { seq: 2, event, from: "running", to: "completed" }), journalRow(b, { seq: 0, verdict: "ignored" })],
      }),
    );
    const at = (query: Parameters<Store["journal"]>[0]) =>
      store.journal(query).map((j) => `${j.commit}/${j.index} ${j.actorId === a ? "a" : "b"}`);
    expect(at({ limit: 10 })).toEqual(["1/0 b", "1/1 a", "2/0 a", "2/1 b"]);
    expect(at({ limit: 3 })).toEqual(["1/0 b", "1/1 a", "2/0 a"]);
    expect(at({ actorId: a, limit: 10 })).toEqual(["1/1 a", "2/0 a"]);
    expect(at({ actorId: b, afterCommit: 1, limit: 10 })).toEqual(["2/1 b"]);
    expect(store.journal({ actorId: a, afterCommit: 1, limit: 1 })).toEqual([
      { commit: 2, index: 0, actorId: a, kind: "run", seq: 2, event, from: "running", to: "completed", verdict: "applied" },
    ]);
  });

  test("when a thread was deleted is the time of the last commit in which it came to be, and of nothing that came after", () => {
    const store = opened();
    const [a, b] = [ids.next("thread"), ids.next("thread")];
    const row = (seq: number, from: string | null, to: string, verdict: "applied" | "ignored" = "applied") => ({
      ...journalRow(a),
      seq,
      from,
      to,
      verdict,
    });
    store.commit({ ...batchOf({ journal: [row(1, null, "idle"), journalRow(b)] }), at: 10 });
    store.commit({ ...batchOf({ journal: [row(2, "idle", "deleted")] }), at: 20 });
    store.commit({ ...batchOf({ journal: [row(3, "deleted", "deleted"), row(0, "idle", "deleted", "ignored")] }), at: 30 });
    expect([store.deletedAt(a), store.deletedAt(b), store.deletedAt(ids.next("thread"))]).toEqual([20, null, null]);
  });

  test("an item comes back as it was put, with a position that grows with every item", () => {
    const store = opened();
    const thread = ids.next("thread");
    const item = newItem(thread, { runId: ids.next("run"), nativeId: "n", truncated: true, text: awkward });
    store.commit(batchOf({ items: [item, newItem(thread)] }));
    expect(store.item(item.id)).toEqual({ ...item, position: 1 });
    expect(store.itemsAfterCommit(0, 10).map((i) => [i.commit, i.item.position])).toEqual([
      [1, 1],
      [1, 2],
    ]);
    expect(store.itemsAfterCommit(1, 10)).toEqual([]);
  });

  test("a thread's items are read by run and then as they came, and pages visit each once, either way", () => {
    const store = opened();
    const [thread, other] = [ids.next("thread"), ids.next("thread")];
    // A message that waits is there before the run ahead of it has ended.
    for (const runOrdinal of [1, 2, 1, 0, 2, 3])
      store.commit(batchOf({ items: [newItem(thread, { runOrdinal }), newItem(other, { runOrdinal })] }));
    const range = { threadId: thread, fromOrdinal: 0, toOrdinal: 2 };
    const places = (items: TurnItem[]) => items.map((i) => [i.runOrdinal, i.position]);
    const inOrder = [
      [0, 7],
      [1, 1],
      [1, 5],
      [2, 3],
      [2, 9],
    ];
    expect(places(store.items(range))).toEqual(inOrder);
    expect(places(store.items({ ...range, fromOrdinal: 1, toOrdinal: 1 }))).toEqual(inOrder.slice(1, 3));
    for (const newestFirst of [false, true])
      for (const limit of [1, 2, 3, 5]) {
        const pages: TurnItem[] = [];
        for (let page: ItemPage = { limit, newestFirst }; ; ) {
          const items = store.items(range, page);
          pages.push(...items);
          const last = items.at(-1);
          if (last === undefined) break;
          page = { ...page, after: last };
        }
        expect(places(pages), `pages of ${limit}`).toEqual(newestFirst ? inOrder.toReversed() : inOrder);
      }
  });

  test("a blob is kept once under its digest, byte for byte", () => {
    const store = opened();
    const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
    store.commit(batchOf({ blobs: [{ digest: "d", bytes }] }));
    store.commit(batchOf({ blobs: [{ digest: "d", bytes: new Uint8Array() }] }));
    expect(store.blob("d")).toEqual(bytes);
  });

  test("the newest progress of a run is kept until a commit clears it, and is no commit itself", () => {
    const store = opened();
    const [run, other] = [ids.next("run"), ids.next("run")];
    store.saveProgress(run, "a");
    store.saveProgress(other, "z");
    store.saveProgress(run, awkward);
    expect([store.progress(run), store.progress(other), store.lastCommit]).toEqual([awkward, "z", 0]);
    store.commit(batchOf({ clearedProgress: [run] }));
    expect([store.progress(run), store.progress(other)]).toEqual([null, "z"]);
  });

  test("checkpoints, handoffs, provider threads and projects are found by id and by what they belong to", () => {
    const store = opened();
    const [thread, transfer] = [ids.next("thread"), ids.next("transfer")];
    const checkpoints = [2, 0, 1].map((n) => checkpointOf(thread, n));
    const handoffs = [handoffOf(transfer, awkward), handoffOf(transfer)];
    const natives = [providerThreadOf(thread), providerThreadOf(thread)];
    const projects = [projectOf("one"), projectOf("two")];
    store.commit(batchOf({ checkpoints, handoffs, providerThreads: natives, projects }));
    store.commit(
      batchOf({
        checkpoints: [checkpointOf(ids.next("thread"), 0)],
        handoffs: [handoffOf(ids.next("transfer"))],
        providerThreads: [providerThreadOf(ids.next("thread"))],
      }),
    );
    for (const c of checkpoints) expect(store.checkpoint(c.id)).toEqual(c);
    expect(store.checkpointsOf(thread).map((c) => c.ordinal)).toEqual([0, 1, 2]);
    for (const h of handoffs) expect(store.handoff(h.id)).toEqual(h);
    expect(store.handoffsOf(transfer)).toEqual(handoffs);
    expect(store.providerThreadsOf(thread)).toEqual(natives);
    expect(store.projects()).toEqual(projects);
    const native = { ...providerThreadOf(thread, ids.next("run")), id: natives[0]?.id ?? ids.next("pthread") };
    const project = { ...projectOf("renamed"), id: projects[0]?.id ?? ids.next("project") };
    store.commit(batchOf({ providerThreads: [native], projects: [project] }));
    expect([store.providerThread(native.id), store.project(project.id)]).toEqual([native, project]);
    expect([store.providerThreadsOf(thread).length, store.projects().length]).toEqual([2, 2]);
  });

  test("handoffs asked for together come in the order in which they were asked for, without those that are not there", () => {
    const store = opened();
    const [first, second] = [handoffOf(ids.next("transfer")), handoffOf(ids.next("transfer"))];
    store.commit(batchOf({ handoffs: [first, second] }));
    expect(store.handoffs([second.id, ids.next("handoff"), first.id])).toEqual([second, first]);
    expect(store.handoffs([])).toEqual([]);
  });

  test("receipts and import digests are kept for ever", () => {
    const store = opened();
    const receipt = { commandId: ids.next("cmd"), digest: "d", response: { ok: true, text: awkward } };
    const thread = ids.next("thread");
    store.commit(batchOf({ receipts: [receipt], imports: [{ threadId: thread, digest: "i" }] }));
    expect([store.receipt(receipt.commandId), store.importDigest(thread)]).toEqual([receipt, "i"]);
    expect(() => store.commit(batchOf({ receipts: [{ ...receipt, digest: "other" }] }))).toThrow();
    expect(store.receipt(receipt.commandId)).toEqual(receipt);
  });

  test("effects are open until they are done, settled or set aside; their starts are counted", () => {
    const store = opened();
    const request = { kind: "thread.wake", policy: "repeatable", threadId: ids.next("thread") } as const;
    const [a, b, c, d] = [ids.next("effect"), ids.next("effect"), ids.next("effect"), ids.next("effect")];
    store.commit(batchOf({ effects: [a, b, c, d].map((id) => ({ id, request })) }));
    expect(store.openEffects().map((e) => e.id)).toEqual([a, b, c, d]);
    store.commit(
      batchOf({
        effectStates: [
          { id: a, state: "started", note: "" },
          { id: b, state: "done", note: "" },
          { id: c, state: "set_aside", note: "why" },
          { id: d, state: "settled", note: "asked" },
        ],
      }),
    );
    expect(store.openEffects()).toEqual([{ id: a, request, state: "started", tries: 1, note: "", commit: 1 }]);
    expect(store.effectsSetAside()).toEqual([{ id: c, request, state: "set_aside", tries: 0, note: "why", commit: 1 }]);
  });
});
