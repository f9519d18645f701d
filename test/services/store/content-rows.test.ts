import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { contentTables, withoutContent } from "../../../services/store/content-rows.ts";
import { openStore } from "../../../services/store/sqlite-store.ts";
import { actorRow, batchOf, ids, journalRow, newItem } from "../../support/commit-batches.ts";
import { temporaryFolder } from "../../support/environments.ts";
import { storeFile } from "../../support/stores.ts";

test("every table of a store is either looked through for content or known to have none", () => {
  const dir = temporaryFolder();
  openStore(dir).close();
  const db = new DatabaseSync(storeFile(dir), { readOnly: true });
  const tables = db
    .prepare("select name from sqlite_master where type = 'table'")
    .all()
    .map((row) => String(row.name));
  db.close();
  expect(tables.filter((name) => !withoutContent.includes(name)).sort()).toEqual([...contentTables].sort());
});

test("pages of content go through every row once, whatever the key of its table is", () => {
  const store = openStore(temporaryFolder());
  const runs = Array.from({ length: 7 }, () => actorRow({ context: { text: "x" } }));
  for (const run of runs)
    store.commit(
      batchOf({ actors: [run], journal: [journalRow(run.id), journalRow(run.id)], items: [newItem(ids.next("thread"), { text: "y" })] }),
    );
  for (const [table, rows] of [
    ["actors", 7],
    ["journal", 14],
    ["items", 7],
  ] as const) {
    const keys: string[] = [];
    for (let after: (string | number)[] | null = null, isMore = true; isMore; ) {
      const page = store.content.page(table, after, 3);
      keys.push(...page.cells.map((cell) => JSON.stringify(cell.key)));
      after = page.next;
      isMore = after !== null;
    }
    expect(new Set(keys).size).toBe(rows);
    expect(keys).toHaveLength(rows);
  }
  store.close();
});
