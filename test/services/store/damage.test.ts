import { cpSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { StoreFailure } from "../../../services/runtime/ports/store.ts";
import { openStore } from "../../../services/store/sqlite-store.ts";
import { actorRow, batchOf, ids, journalRow, newItem } from "../../support/commit-batches.ts";
import { temporaryFolder } from "../../support/environments.ts";
import { noSmallDisk, smallDisk } from "../../support/small-disk.ts";
import { withDatabase } from "../../support/store-fixtures.ts";
import { refusalOf, storeFile, storeOf } from "../../support/stores.ts";

describe("a damaged store is refused and told", () => {
  test("when it is no database at all", () => {
    const dir = temporaryFolder();
    writeFileSync(storeFile(dir), "This was a shopping list.\n".repeat(400));
    const before = readFileSync(storeFile(dir));
    expect(refusalOf(dir)).toMatchObject({
      reason: "store_damaged",
      message: expect.stringContaining(storeFile(dir)),
      hint: expect.stringContaining("backup"),
    });
    expect(readFileSync(storeFile(dir))).toEqual(before);
  });

  test("when its end is missing", () => {
    const dir = storeOf(30);
    truncateSync(storeFile(dir), statSync(storeFile(dir)).size / 2);
    expect(refusalOf(dir).reason).toBe("store_damaged");
  });

  test("when it is empty or gone although commits were made: it is not taken for a new one", () => {
    const dir = storeOf(3);
    truncateSync(storeFile(dir), 0);
    expect(refusalOf(dir)).toMatchObject({ reason: "store_damaged", message: expect.stringContaining("3 commits") });
    expect(statSync(storeFile(dir)).size).toBe(0);
  });

  test("when its pages were overwritten: at the opening, where somebody else wrote the file", () => {
    const dir = storeOf(60);
    const bytes = readFileSync(storeFile(dir));
    bytes.fill(0x5a, 4_096 * 20, 4_096 * 40);
    writeFileSync(storeFile(dir), bytes);
    expect(refusalOf(dir)).toMatchObject({ reason: "store_damaged", hint: expect.stringContaining("backup") });
  });

  test("when it was put under the log of a later life: nothing of it is touched", () => {
    const [dir, mixed] = [temporaryFolder(), temporaryFolder()];
    const store = openStore(dir);
    const grow = (commits: number) => {
      for (let i = 0; i < commits; i += 1) store.commit(batchOf({ items: [newItem(ids.next("thread"), { text: "x".repeat(30_000) })] }));
    };
    grow(20);
    withDatabase(storeFile(dir), (db) => db.exec("pragma wal_checkpoint(truncate)"));
    const older = readFileSync(storeFile(dir));
    grow(140);
    cpSync(dir, mixed, { recursive: true, filter: (from) => !from.endsWith("-shm") });
    store.close();
    writeFileSync(storeFile(mixed), older);
    const log = readFileSync(`${storeFile(mixed)}-wal`);
    expect(refusalOf(mixed)).toMatchObject({ reason: "store_damaged" });
    expect(readFileSync(storeFile(mixed))).toEqual(older);
    expect(readFileSync(`${storeFile(mixed)}-wal`)).toEqual(log);
  });

  test("when its lock file is something else", () => {
    const dir = storeOf(1);
    writeFileSync(join(dir, "lock.db"), "not a lock".repeat(500));
    expect(refusalOf(dir)).toMatchObject({ reason: "store_damaged", message: expect.stringContaining("lock.db") });
  });

  test("a page that turns out to be unreadable later is told as damage by whoever meets it", () => {
    const dir = storeOf(200);
    const store = openStore(dir);
    // Behind the store's back, and past what it has in its cache.
    withDatabase(storeFile(dir), (db) => db.exec("pragma wal_checkpoint(truncate)"));
    const bytes = readFileSync(storeFile(dir));
    bytes.fill(0x5a, 4_096 * 30);
    writeFileSync(storeFile(dir), bytes);
    const failures = [() => store.itemsAfterCommit(0, 500), () => store.actorsBy({ kind: "run" }), () => store.journal({ limit: 500 })].map(
      (read) => {
        try {
          read();
          return null;
        } catch (error) {
          return (error as StoreFailure).reason;
        }
      },
    );
    expect(failures).toContain("store_damaged");
    expect(failures.filter((f) => f !== "store_damaged" && f !== null)).toEqual([]);
    store.close();
  });
});

describe("a record that cannot be read is set aside and shown; the rest goes on", () => {
  const broken = "{ this is not JSON";

  test("R04 actors, items, effects and other records", () => {
    const dir = temporaryFolder();
    const store = openStore(dir);
    const thread = ids.next("thread");
    const request = { kind: "thread.wake", policy: "repeatable", threadId: thread } as const;
    const actors = [actorRow({ owner: thread, ordinal: 1 }), actorRow({ owner: thread, ordinal: 2 })];
    const items = [newItem(thread), newItem(thread)];
    const effects = [ids.next("effect"), ids.next("effect")].map((id) => ({ id, request }));
    store.commit(batchOf({ actors, items, effects, journal: actors.map((a) => journalRow(a.id)) }));
    const [actor, item, effect] = [actors[0]?.id, items[0]?.id, effects[0]?.id] as [never, never, never];
    withDatabase(storeFile(dir), (db) => {
      db.prepare("update actors set context = ? where id = ?").run(broken, actor);
      db.prepare("update items set body = ? where id = ?").run(broken, item);
      db.prepare("update effects set request = ? where id = ?").run(broken, effect);
      db.prepare("update journal set event = ? where idx = 0").run(broken);
    });
    expect(store.actor(actor)).toBeNull();
    expect(store.actorsBy({ kind: "run" })).toEqual([actors[1]]);
    expect(store.items({ threadId: thread, fromOrdinal: 0, toOrdinal: 9 }).map((i) => i.id)).toEqual([items[1]?.id]);
    expect(store.openEffects().map((e) => e.id)).toEqual([effects[1]?.id]);
    expect(store.journal({ limit: 10 }).map((j) => j.actorId)).toEqual([actors[1]?.id]);
    expect(new Set(store.setAside().map((s) => s.id))).toEqual(new Set([actor, item, effect, "journal 1/0"]));
    expect(store.setAside().every((s) => s.reason !== "")).toBe(true);
    store.close();
  });

  test("but a receipt, an answer or a link's positions are never taken for ones that are not there", () => {
    const dir = temporaryFolder();
    const store = openStore(dir);
    const [link, env, incoming, outgoing, receipt] = [ids.next("link"), ids.next("env"), ids.next("req"), ids.next("req"), ids.next("cmd")];
    withDatabase(storeFile(dir), (db) => {
      db.prepare("insert into links values (?, ?)").run(link, broken);
      db.prepare("insert into incoming_requests values (?, ?, 'd', ?)").run(env, incoming, broken);
      db.prepare("insert into outgoing_requests values (?, ?, 'kind', 's', ?)").run(outgoing, env, broken);
      db.prepare("insert into receipts values (?, 'd', ?, 1)").run(receipt, broken);
    });
    const damaged = expect.objectContaining({ reason: "store_damaged" });
    expect(() => store.link(link)).toThrow(damaged);
    expect(() => store.incomingRequest(env, incoming)).toThrow(damaged);
    expect(() => store.outgoingRequest(outgoing)).toThrow(damaged);
    expect(() => store.receipt(receipt)).toThrow(damaged);
    store.close();
  });
});

describe.skipIf(noSmallDisk !== null)(`a full disk (${noSmallDisk ?? "as root"})`, () => {
  test("refuses to open, and opens once there is space", () => {
    const disk = smallDisk(2_048);
    disk.fill();
    expect(refusalOf(disk.dir)).toMatchObject({ reason: "disk_full", hint: expect.stringContaining("space") });
    disk.free();
    openStore(disk.dir).close();
    const again = openStore(disk.dir);
    expect(again.previousIncarnation).toBeNull();
    again.close();
  });

  test("takes nothing of a commit that does not fit, keeps what was there, and goes on once there is space", () => {
    const disk = smallDisk(4_096);
    const store = openStore(disk.dir);
    const thread = ids.next("thread");
    const small = () => store.commit(batchOf({ items: [newItem(thread)] }));
    small();
    disk.fill(200 * 1_024);
    const run = actorRow();
    const large = batchOf({ actors: [run], items: [1, 2, 3, 4].map(() => newItem(thread, { text: "x".repeat(100_000) })) });
    for (let i = 0; i < 3; i += 1) expect(() => store.commit(large)).toThrow(expect.objectContaining({ reason: "disk_full" }));
    expect([store.lastCommit, store.actor(run.id), store.itemsAfterCommit(0, 100).length]).toEqual([1, null, 1]);
    // What fits is taken.
    expect(small()).toBe(2);
    store.saveProgress(ids.next("run"), "x".repeat(1_000_000));
    disk.free();
    expect(store.commit(large)).toBe(3);
    store.close();
    const again = openStore(disk.dir);
    expect([again.lastCommit, again.actor(run.id), again.itemsAfterCommit(0, 100).length, again.previousIncarnation]).toEqual([
      3,
      run,
      6,
      null,
    ]);
    again.close();
  });

  test("does not keep a store from being closed, nor from being the same afterwards", () => {
    const disk = smallDisk(2_048);
    const store = openStore(disk.dir);
    store.commit(batchOf({ items: [newItem(ids.next("thread"), { text: "x".repeat(200_000) })] }));
    disk.fill();
    store.close();
    disk.free();
    const again = openStore(disk.dir);
    expect([again.incarnation, again.previousIncarnation, again.lastCommit]).toEqual([store.incarnation, null, 1]);
    again.close();
  });
});
