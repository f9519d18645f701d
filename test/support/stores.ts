import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { type Store, StoreFailure } from "../../services/runtime/ports/store.ts";
import { openMemoryStore, openStore, type StoreOptions } from "../../services/store/sqlite-store.ts";
import { actorRow, batchOf, ids, journalRow, newItem } from "./commit-batches.ts";
import { temporaryFolder } from "./environments.ts";

/** Its file in an environment's folder. */
export const storeFile = (dir: string) => join(dir, "ropewalk.db");

/** Why a store does not open. Every reason comes with what to do. */
export function refusalOf(dir: string, options: StoreOptions = {}): { reason: string; message: string; hint: string } {
  try {
    openStore(dir, options).close();
  } catch (error) {
    expect(error).toBeInstanceOf(StoreFailure);
    const { reason, message, hint } = error as StoreFailure;
    expect(message).not.toBe("");
    expect(hint).not.toBe("");
    return { reason, message, hint };
  }
  throw new Error(`${dir} opened`);
}

/** A folder with a store of so many commits in it, closed. */
export function storeOf(commits: number): string {
  const dir = temporaryFolder();
  const store = openStore(dir);
  for (let i = 0; i < commits; i += 1) {
    const run = actorRow({ context: { text: "y".repeat(2_000) } });
    store.commit(
      batchOf({ actors: [run], journal: [journalRow(run.id)], items: [newItem(ids.next("thread"), { text: "x".repeat(2_000) })] }),
    );
  }
  store.close();
  return dir;
}

/** Both stores, which hold the same contract. Each is closed when its test is over. */
export const stores: readonly { name: string; opened(): Store }[] = [
  { name: "the store on disk", opened: () => closedLater(openStore(temporaryFolder())) },
  { name: "the store in memory", opened: () => closedLater(openMemoryStore()) },
];

function closedLater(store: Store): Store {
  onTestFinished(() => store.close());
  return store;
}

/** Texts that are changed by stores that mean well. */
export const awkward = "two\u0000parts, a tab\t, cr\r\nlf, é and e\u0301, \u{1f9f5} and \u202e, trailing space ";
