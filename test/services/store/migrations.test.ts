import { createHash } from "node:crypto";
import { cpSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, onTestFinished, test } from "vitest";
import { StoreFailure } from "../../../services/runtime/ports/store.ts";
import { migrate, migrations, newestVersion } from "../../../services/store/migrations.ts";
import { openStore } from "../../../services/store/sqlite-store.ts";
import { batchOf, ids, newItem } from "../../support/commit-batches.ts";
import { temporaryFolder } from "../../support/environments.ts";
import { fixtureFolder, fixtureName, readOut, schemaOf, tablesOf, withDatabase } from "../../support/store-fixtures.ts";

const fixture = (version: number) => readFileSync(join(fixtureFolder, `${fixtureName(version)}.sql`), "utf8");

/** A folder with the store of a released version in it. */
function storeOf(version: number): string {
  const dir = temporaryFolder();
  withDatabase(join(dir, "ropewalk.db"), (db) => db.exec(`pragma journal_mode = wal; begin;${fixture(version)};commit`));
  return dir;
}

function memory(): DatabaseSync {
  const db = new DatabaseSync(":memory:");
  onTestFinished(() => db.close());
  return db;
}

/** Tables with their columns and indexes, in the words that matter and no others. */
function layoutOf(db: DatabaseSync): string[] {
  return schemaOf(db)
    .map((sql) => sql.replace(/\s+/g, " "))
    .sort();
}

test("versions are numbered from 1 without a gap", () => {
  expect(migrations.map((m) => m.version)).toEqual(migrations.map((_, i) => i + 1));
});

test.each(migrations)("version $version has a recorded store with a row in every table of it", ({ version }) => {
  // A new version is recorded once, with: npm run record:store
  expect(existsSync(join(fixtureFolder, `${fixtureName(version)}.sql`)), `test/fixtures/stores/${fixtureName(version)}.sql`).toBe(true);
  const db = memory();
  db.exec(fixture(version));
  const empty = tablesOf(db).filter((table) => db.prepare(`select 1 from "${table}" limit 1`).get() === undefined);
  expect(empty).toEqual([]);
});

test.each(migrations)("version $version makes the layout that it was released with", ({ version }) => {
  const [made, recorded] = [memory(), memory()];
  migrate(
    made,
    migrations.filter((m) => m.version <= version),
  );
  recorded.exec(fixture(version));
  expect(layoutOf(made)).toEqual(layoutOf(recorded));
});

describe.each(migrations)("a store of version $version", ({ version }) => {
  test("opens, with everything that was in it, and can be written", () => {
    const dir = storeOf(version);
    const store = openStore(dir);
    const recorded = JSON.parse(readFileSync(join(fixtureFolder, `${fixtureName(version)}.json`), "utf8")) as unknown;
    expect(readOut(store, join(dir, "ropewalk.db"))).toEqual(recorded);
    const thread = ids.next("thread");
    const commit = store.commit(batchOf({ items: [newItem(thread)] }));
    store.close();
    const again = openStore(dir);
    expect([again.lastCommit, again.itemsAfterCommit(commit - 1, 10).length]).toEqual([commit, 1]);
    again.close();
  });

  test("has the layout of a new store after its migration", () => {
    const [fresh, old] = [memory(), memory()];
    migrate(fresh);
    old.exec(fixture(version));
    migrate(old);
    expect(layoutOf(old)).toEqual(layoutOf(fresh));
    expect(old.prepare("pragma user_version").get()).toEqual({ user_version: newestVersion });
    expect(old.prepare("pragma integrity_check").get()).toEqual({ integrity_check: "ok" });
  });

  test("stays what it was when the next step fails half-way", () => {
    const db = memory();
    db.exec(fixture(version));
    const before = [layoutOf(db), db.prepare("pragma user_version").get()];
    const broken = { version: version + 1, sql: "create table half (a); insert into half values (1); insert into nowhere values (1)" };
    expect(() => migrate(db, [...migrations.filter((m) => m.version <= version), broken])).toThrow("nowhere");
    expect([layoutOf(db), db.prepare("pragma user_version").get()]).toEqual(before);
    migrate(db);
    expect(db.prepare("pragma user_version").get()).toEqual({ user_version: newestVersion });
  });
});

describe("a store that a newer ropewalk has written", () => {
  const digests = (dir: string) =>
    Object.fromEntries(
      readdirSync(dir)
        .filter((f) => f.startsWith("ropewalk.db") && !f.endsWith("-shm"))
        .map((f) => [
          f,
          createHash("sha256")
            .update(readFileSync(join(dir, f)))
            .digest("hex"),
        ]),
    );

  function expectRefused(dir: string): void {
    const before = digests(dir);
    const error = caught(() => openStore(dir));
    expect(error).toBeInstanceOf(StoreFailure);
    expect(error).toMatchObject({ reason: "store_newer", message: expect.stringContaining(`version ${newestVersion + 1}`) });
    expect(error.hint).not.toBe("");
    expect(digests(dir)).toEqual(before);
    expect(existsSync(join(dir, "openings"))).toBe(false);
  }

  test("is refused and left as it is, byte for byte", () => {
    const dir = storeOf(newestVersion);
    withDatabase(join(dir, "ropewalk.db"), (db) => db.exec(`create table of_the_future (a); pragma user_version = ${newestVersion + 1}`));
    expectRefused(dir);
  });

  test("is refused and left as it is also when it was not closed: its log is neither read into it nor taken away", () => {
    const [dir, killed] = [temporaryFolder(), temporaryFolder()];
    withDatabase(join(dir, "ropewalk.db"), (db) => {
      db.exec(`pragma journal_mode = wal; create table of_the_future (a); pragma user_version = ${newestVersion + 1}`);
      cpSync(dir, killed, { recursive: true });
    });
    expect(readdirSync(killed)).toContain("ropewalk.db-wal");
    expectRefused(killed);
  });
});

function caught(work: () => unknown): StoreFailure {
  try {
    work();
  } catch (error) {
    return error as StoreFailure;
  }
  throw new Error("it did not fail");
}
