import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { newestVersion } from "../../services/store/migrations.ts";
import { openStore } from "../../services/store/sqlite-store.ts";
import { commitsOfEveryKind, ids } from "./commit-batches.ts";
import { dumpOf, fixtureFolder, fixtureName, readOut, withDatabase } from "./store-fixtures.ts";

/**
 * Records the fixture of the newest store version: its tables with rows in each, as SQL, and what is read out of them. Run
 * once, when a version is released; from then on every later version is tested with it.
 */
const sql = join(fixtureFolder, `${fixtureName(newestVersion)}.sql`);
if (existsSync(sql)) throw new Error(`${fileURLToPath(new URL(`file://${sql}`))} is there already: a released version does not change`);
const dir = mkdtempSync(join(tmpdir(), "ropewalk-fixture-"));
try {
  const store = openStore(dir);
  for (const batch of commitsOfEveryKind()) store.commit(batch);
  store.saveProgress(ids.next("run"), "half a sent");
  store.close();
  withDatabase(join(dir, "ropewalk.db"), (db) => {
    db.prepare("update meta set value = ? where key = 'identity'").run(JSON.stringify({ machine: "another", file: "1:1", openings: 1 }));
  });
  writeFileSync(sql, dumpOf(join(dir, "ropewalk.db")));
  const again = openStore(dir);
  writeFileSync(sql.replace(/sql$/, "json"), `${JSON.stringify(readOut(again, join(dir, "ropewalk.db")), null, 2)}\n`);
  again.close();
} finally {
  rmSync(dir, { recursive: true });
}
