import { describe, expect, test } from "vitest";
import { batchOf, ids, linkRow, outboxRow, positionAt } from "../../support/commit-batches.ts";
import { awkward, stores } from "../../support/stores.ts";

describe.each(stores)("$name", ({ opened }) => {
  test("an outbox is read after a position, across epochs, in order, and forgotten up to what the peer's store has", () => {
    const store = opened();
    const [link, other] = [ids.next("link"), ids.next("link")];
    const body = JSON.stringify({ text: awkward });
    store.commit(batchOf({ links: [linkRow(link)], outbox: [outboxRow(link, 1, 1, body), outboxRow(link, 1, 2), outboxRow(other, 1, 1)] }));
    store.commit(batchOf({ outbox: [outboxRow(link, 2, 1), outboxRow(link, 1, 3)] }));
    const at = (epoch: number, number: number, limit = 10) =>
      store.outbox(link, positionAt(epoch, number), limit).map((m) => `${m.epoch}/${m.number}`);
    expect(at(1, 0)).toEqual(["1/1", "1/2", "1/3", "2/1"]);
    expect(at(1, 0, 2)).toEqual(["1/1", "1/2"]);
    expect(at(1, 2)).toEqual(["1/3", "2/1"]);
    expect(at(2, 1)).toEqual([]);
    expect(store.outbox(link, positionAt(1, 0), 1)).toEqual([
      { epoch: 1, number: 1, kind: "notice", requestId: null, body, digest: positionAt(1, 1).digest, commit: 1 },
    ]);
    expect([store.outboxCount(link), store.outboxCount(other)]).toEqual([4, 1]);
    store.commit(batchOf({ receipted: [{ linkId: link, position: positionAt(1, 3) }] }));
    expect([at(1, 0), store.outboxCount(link), store.outboxCount(other)]).toEqual([["2/1"], 1, 1]);
    const moved = { ...linkRow(link), received: positionAt(3, 9), formerIncarnations: [ids.next("inc")] };
    store.commit(batchOf({ links: [moved] }));
    expect(store.link(link)).toEqual(moved);
  });

  test("an outbox gives no further message once the bodies that it gave have reached a size, and always the first", () => {
    const store = opened();
    const link = ids.next("link");
    // Three bytes of UTF-8 to a character.
    store.commit(batchOf({ links: [linkRow(link)], outbox: [1, 2, 3, 4].map((number) => outboxRow(link, 1, number, "漢".repeat(100))) }));
    const within = (bytes: number, limit = 10, after = 0) => store.outbox(link, positionAt(1, after), limit, bytes).map((m) => m.number);
    expect([within(0), within(1), within(300), within(301), within(900), within(901), within(9_000)]).toEqual([
      [1],
      [1],
      [1],
      [1, 2],
      [1, 2, 3],
      [1, 2, 3, 4],
      [1, 2, 3, 4],
    ]);
    expect([within(9_000, 2), within(301, 10, 2), within(9_000, 10, 4)]).toEqual([[1, 2], [3, 4], []]);
  });

  test("requests of both directions are kept with their answers; those of ours are open until they have one", () => {
    const store = opened();
    const [environmentId, elsewhere, requestId] = [ids.next("env"), ids.next("env"), ids.next("req")];
    const answer = { ok: true, result: { text: awkward } } as const;
    const incoming = { environmentId, requestId, digest: "d", answer };
    const open = { requestId: ids.next("req"), environmentId, kind: "task.spawn", subject: "task", answer: null };
    const far = { ...open, requestId: ids.next("req"), environmentId: elsewhere };
    store.commit(batchOf({ incomingRequests: [incoming], outgoingRequests: [open, far] }));
    expect([store.incomingRequest(environmentId, requestId), store.incomingRequest(elsewhere, requestId)]).toEqual([incoming, null]);
    expect([store.openRequests(), store.openRequests(environmentId)]).toEqual([[open, far], [open]]);
    store.commit(batchOf({ outgoingRequests: [{ ...open, answer }] }));
    expect([store.openRequests(), store.outgoingRequest(open.requestId)]).toEqual([[far], { ...open, answer }]);
    expect(() => store.commit(batchOf({ incomingRequests: [{ ...incoming, digest: "other" }] }))).toThrow();
  });

  test("a message that could not be used is kept once, in the order of its direction", () => {
    const store = opened();
    const linkId = ids.next("link");
    const kept = [2, 1].map((number) => ({ linkId, epoch: 1, number, raw: awkward, reason: "why" }));
    store.commit(batchOf({ keptMessages: kept }));
    store.commit(batchOf({ keptMessages: [{ ...(kept[0] ?? kept[1]), linkId, epoch: 1, number: 2, raw: "again", reason: "again" }] }));
    expect(store.keptMessages(linkId)).toEqual(kept.toReversed());
  });
});
