import { rmSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { StoreFailure } from "../runtime/ports/store.ts";
import { first } from "./migrations/0001-first.ts";

export type Migration = { version: number; sql: string };

/** Numbered without a gap, never edited once released, each tested from every earlier version. */
export const migrations: readonly Migration[] = [first];
export const newestVersion = migrations.at(-1)?.version ?? 0;

/** Brings a database to the version of the last step: each step whole, in a transaction of its own, or not at all. */
export function migrate(db: DatabaseSync, steps: readonly Migration[] = migrations): void {
  const version = versionOf(db);
  for (const step of steps) {
    if (step.version <= version) continue;
    try {
      db.exec(`begin immediate;${step.sql};pragma user_version = ${step.version};commit`);
    } catch (error) {
      if (db.isTransaction) db.exec("rollback");
      throw error;
    }
  }
}

/**
 * Refuses a store that a newer ropewalk has written, before anything of it is touched: it stays as it is, byte for byte.
 * Throws `store_newer`.
 */
export function refuseNewer(path: string): void {
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0) return;
  // What merely looking leaves beside a store that was closed well.
  const leavings = [`${path}-wal`, `${path}-shm`].filter((file) => statSync(file, { throwIfNoEntry: false }) === undefined);
  const db = new DatabaseSync(path, { readOnly: true });
  let version: number;
  try {
    version = versionOf(db);
  } finally {
    db.close();
  }
  if (version <= newestVersion) return;
  for (const file of leavings) rmSync(file, { force: true });
  throw new StoreFailure(
    "store_newer",
    `the store has version ${version}, this ropewalk knows up to ${newestVersion}`,
    "Use the newer ropewalk that wrote it, or another folder (--dir).",
  );
}

function versionOf(db: DatabaseSync): number {
  return (db.prepare("pragma user_version").get() as { user_version: number }).user_version;
}
