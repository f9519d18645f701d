import type { DatabaseSync } from "node:sqlite";
import { first } from "./migrations/0001-first.ts";
import { actorsInOrder } from "./migrations/0002-actors-in-order.ts";
import { actorsByRow } from "./migrations/0003-actors-by-row.ts";

export type Migration = { version: number; sql: string };

/** Numbered without a gap, never edited once released, each tested from every earlier version. */
export const migrations: readonly Migration[] = [first, actorsInOrder, actorsByRow];
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

export function versionOf(db: DatabaseSync): number {
  return (db.prepare("pragma user_version").get() as { user_version: number }).user_version;
}
