import { openStore } from "../../../services/store/sqlite-store.ts";
import { batchOf, ids, newItem } from "../../support/commit-batches.ts";

/** Opens the store in a folder, makes as many commits as asked, says what it is, and lives on until it is killed. */
const [dir = "", commits = "0"] = process.argv.slice(2);
const store = openStore(dir);
for (let i = 0; i < Number(commits); i += 1) store.commit(batchOf({ items: [newItem(ids.next("thread"), { text: "x".repeat(30_000) })] }));
process.stdout.write(
  `${JSON.stringify({ incarnation: store.incarnation, previous: store.previousIncarnation, lastCommit: store.lastCommit })}\n`,
);
setInterval(() => {}, 1_000);
