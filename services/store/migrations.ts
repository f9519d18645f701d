import type { DatabaseSync } from "node:sqlite";
import { StoreFailure } from "../runtime/ports/store.ts";
import { first } from "./migrations/0001-first.ts";

/** Numbered, never edited once released, each tested from every earlier version. */
export const migrations: readonly { version: number; sql: string }[] = [first];
export const newestVersion = migrations.at(-1)?.version ?? 0;

/** Brings a database to the newest version, one transaction per step. Refuses one that a newer ropewalk has written. */
export function migrate(db: DatabaseSync, upTo: number = newestVersion): void {
  const row = db.prepare("pragma user_version").get() as { user_version: number };
  if (row.user_version > newestVersion)
    throw new StoreFailure(
      "store_newer",
      `the store has version ${row.user_version}, this ropewalk knows up to ${newestVersion}`,
      "Use the newer ropewalk that wrote it, or another folder (--dir).",
    );
  for (const step of migrations) {
    if (step.version <= row.user_version || step.version > upTo) continue;
    db.exec(`begin immediate;${step.sql};pragma user_version = ${step.version};commit`);
  }
}
