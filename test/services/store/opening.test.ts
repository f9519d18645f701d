import { chmodSync, existsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { openStore } from "../../../services/store/sqlite-store.ts";
import { batchOf, ids, newItem } from "../../support/commit-batches.ts";
import { temporaryFolder } from "../../support/environments.ts";
import { noSmallDisk, smallDisk } from "../../support/small-disk.ts";
import { withDatabase } from "../../support/store-fixtures.ts";
import { refusalOf, storeFile, storeOf } from "../../support/stores.ts";
import { processOn } from "./processes.ts";

describe("one writer", () => {
  test("a second process on the folder is refused, and let in as soon as the first was killed", async () => {
    const dir = temporaryFolder();
    const first = await processOn(dir, 2);
    expect(refusalOf(dir)).toMatchObject({ reason: "store_locked", message: `an environment is already running on ${dir}` });
    await first.kill();
    const store = openStore(dir);
    expect(store.lastCommit).toBe(2);
    store.close();
  });

  test("a second opening in the same process is refused, and leaves the first as it is", () => {
    const dir = temporaryFolder();
    const store = openStore(dir);
    expect(refusalOf(dir).reason).toBe("store_locked");
    expect(store.commit(batchOf({}))).toBe(1);
    expect(refusalOf(dir).reason).toBe("store_locked");
    store.close();
    openStore(dir).close();
  });

  test("readers of the main file see every commit while it is written", async () => {
    const dir = temporaryFolder();
    const writer = await processOn(dir, 4);
    const reader = new DatabaseSync(storeFile(dir), { readOnly: true });
    expect(reader.prepare("select count(*) as n from items").get()).toEqual({ n: 4 });
    reader.close();
    await writer.kill();
  });

  test("a transaction that some other tool keeps open is told as such, after a short while, and nothing is half written", () => {
    const dir = temporaryFolder();
    const store = openStore(dir);
    withDatabase(storeFile(dir), (db) => {
      db.exec("begin immediate");
      const before = performance.now();
      expect(() => store.commit(batchOf({ items: [newItem(ids.next("thread"))] }))).toThrow(
        expect.objectContaining({ reason: "store_locked" }),
      );
      expect(performance.now() - before).toBeLessThan(2_000);
      db.exec("rollback");
    });
    expect(store.commit(batchOf({}))).toBe(1);
    expect(store.itemsAfterCommit(0, 10)).toEqual([]);
    store.close();
  });
});

describe("where a store may be", () => {
  test.each([
    ["NFS", 0x6969],
    ["CIFS", 0xff534d42],
    // As a signed number, which is how some systems give it.
    ["CIFS", 0xff534d42 | 0],
    ["SMB2", 0xfe534d42],
    ["9P", 0x01021997],
    ["FUSE", 0x65735546],
    ["Lustre", 0x0bd00bd0],
  ])("not on %s (%d): it is refused before anything is written", (name, type) => {
    const dir = temporaryFolder();
    const refused = refusalOf(dir, { fileSystemType: () => type });
    expect(refused).toMatchObject({
      reason: "network_file_system",
      message: expect.stringContaining(name),
      hint: expect.stringContaining("--dir"),
    });
    expect([storeFile(dir), join(dir, "lock.db"), join(dir, "openings")].filter((f) => existsSync(f))).toEqual([]);
  });

  test("on an ordinary disk, in a folder that is made with its parents and is its owner's alone", () => {
    const dir = join(temporaryFolder(), "made", "for", "it");
    openStore(dir).close();
    expect(statSync(dir).mode & 0o777).toBe(0o700);
  });

  test("a link to a folder leads to the folder: two names are one store", () => {
    const dir = temporaryFolder();
    const store = openStore(dir);
    expect(store.folder).toBe(dir);
    expect(refusalOf(join(dir, ".", "..", dir.slice(dir.lastIndexOf("/") + 1))).reason).toBe("store_locked");
    store.close();
  });

  test("not below a file, and the message says what is in the way", () => {
    const file = join(temporaryFolder(), "file");
    writeFileSync(file, "");
    expect(refusalOf(join(file, "sub"))).toMatchObject({ reason: "store_unwritable", message: expect.stringContaining(file) });
  });

  test.skipIf(process.getuid?.() === 0)("not in a folder that cannot be written (skipped for root, who can write everywhere)", () => {
    const dir = storeOf(1);
    chmodSync(dir, 0o500);
    expect(refusalOf(dir).reason).toBe("store_unwritable");
    chmodSync(dir, 0o700);
  });

  test.skipIf(noSmallDisk !== null)(
    `not on a disk that is mounted read-only; it opens once it can be written (${noSmallDisk ?? "as root"})`,
    () => {
      const disk = smallDisk(2_048);
      openStore(disk.dir).close();
      disk.readOnly(true);
      expect(refusalOf(disk.dir).reason).toBe("store_unwritable");
      disk.readOnly(false);
      openStore(disk.dir).close();
    },
  );
});
