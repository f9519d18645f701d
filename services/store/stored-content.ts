import { DatabaseSync } from "node:sqlite";
import { ContentRows } from "./content-rows.ts";
import { storeFailure } from "./failure.ts";
import { Statements } from "./statements.ts";

/** The content of a store's file that no process has open, e.g. of a backup; of this version or an earlier one. */
export function openContent(path: string): { content: ContentRows; close(): void } {
  try {
    const db = new DatabaseSync(path);
    db.exec("pragma journal_mode = delete; pragma secure_delete = on");
    return { content: new ContentRows(new Statements(db, path)), close: () => db.close() };
  } catch (error) {
    throw storeFailure(error, path);
  }
}
