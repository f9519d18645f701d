import type { Checkpoint } from "../../schemas/checkpoint.ts";
import type { ContextHandoff } from "../../schemas/handoff.ts";
import type { ThreadId } from "../../schemas/ids.ts";
import type { ContentCell, ContentPage, ContentStore } from "../runtime/ports/content.ts";
import type { Store } from "../runtime/ports/store.ts";
import { purgedMark } from "../runtime/redaction/needle.ts";
import { mapTexts } from "../runtime/redaction/texts.ts";
import { asTransfer, runFrom, runsOf } from "../runtime/typed-actors.ts";
import { type Alone, measuredAgain } from "./store-text.ts";

const rowsAtOnce = 200;
const blobsAtOnce = 8;

/** What belongs to a thread's runs behind `keptUpTo` (-1: to all of it), as far as no other thread needs it. */
type Belongings = { actors: Set<string>; transfers: Set<string>; items: Set<number>; isItem: (cell: ContentCell) => boolean };

/**
 * Empties a deleted thread in the store: its words go, what holds the record together stays. What it was told by others is
 * its own; what others were told of it is theirs. May be repeated.
 */
export async function emptyThread(content: ContentStore, store: Store, alone: Alone, threadId: ThreadId, keptUpTo: number): Promise<void> {
  const own = belongingsOf(store, threadId, keptUpTo);
  await eachPage(content, alone, (cells) => {
    const changes = cells.flatMap((cell) => emptied(cell, own, threadId, keptUpTo) ?? []);
    if (changes.length > 0) content.write(changes);
  });
  await dropUnused(content, alone);
}

function belongingsOf(store: Store, threadId: ThreadId, keptUpTo: number): Belongings {
  const actors = new Set<string>([threadId]);
  for (const run of runsOf(store, threadId, { min: keptUpTo + 1 })) actors.add(run.id);
  for (const task of store.actorsBy({ kind: "task", owner: threadId })) actors.add(task.id);
  const transfers = new Set<string>();
  for (const transfer of store.actorsBy({ kind: "transfer", owner: threadId }).map(asTransfer)) {
    const by = transfer.consumedByRunId === null ? null : runFrom(store, transfer.consumedByRunId);
    if (by !== null && by.ordinal <= keptUpTo) continue;
    actors.add(transfer.id);
    transfers.add(transfer.id);
  }
  const items = new Set<number>();
  const range = { threadId, fromOrdinal: keptUpTo + 1, toOrdinal: Number.MAX_SAFE_INTEGER };
  for (let before: { runOrdinal: number; position: number } | undefined, isMore = true; isMore; ) {
    const page = store.itemSizes(range, 1_000, before);
    for (const { position } of page) items.add(position);
    before = page.at(-1);
    isMore = page.length === 1_000;
  }
  return { actors, transfers, items, isItem: ({ key }) => items.has(Number(key[0])) };
}

function emptied(cell: ContentCell, own: Belongings, threadId: ThreadId, keptUpTo: number): ContentCell | null {
  const { table, of } = cell;
  const record = () => withoutWords(JSON.parse(String(cell.value)), table);
  const put = (value: unknown) => ({ ...cell, value: JSON.stringify(value) });
  switch (table) {
    case "items":
      return of === threadId && own.isItem(cell) ? put(record()) : null;
    case "journal":
    case "actors":
    case "actor_history":
      return of !== null && own.actors.has(of) ? put(record()) : null;
    case "progress":
      return of !== null && own.actors.has(of) ? { ...cell, value: "" } : null;
    case "handoffs":
      return of !== null && own.transfers.has(of) ? put(measuredAgain(record() as ContextHandoff)) : null;
    case "checkpoints": {
      const checkpoint = JSON.parse(String(cell.value)) as Checkpoint;
      if (of !== threadId || checkpoint.ordinal <= keptUpTo) return null;
      return put({ ...checkpoint, workspace: null, workspaceRef: null, workspaceNote: "purged" });
    }
    case "effects":
    case "receipts":
      return [...own.actors].some((id) => String(cell.value).includes(id)) && cell.kind === "json" ? put(record()) : null;
    default:
      return null;
  }
}

/** A record without its words; large ones are no longer referred to. */
function withoutWords(record: unknown, table: string): unknown {
  const words = (text: string) => (text === "" ? "" : purgedMark);
  return mapTexts(withoutBlobs(record), { words, inRecord: table !== "items" });
}

function withoutBlobs(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((element) => withoutBlobs(element));
  if (typeof value !== "object" || value === null) return value;
  if ("blob" in value) return { text: purgedMark };
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withoutBlobs(member)]));
}

/** Blobs that nothing refers to any more, also those that an earlier try has left. */
async function dropUnused(content: ContentStore, alone: Alone): Promise<void> {
  const digests = new Set<string>();
  for (let after: (string | number)[] | null = null, isMore = true; isMore; ) {
    const from: (string | number)[] | null = after;
    const page: ContentPage = await alone(() => content.page("blobs", from, blobsAtOnce));
    for (const { key } of page.cells) digests.add(String(key[0]));
    after = page.next;
    isMore = after !== null;
  }
  if (digests.size === 0) return;
  await eachPage(content, alone, (cells) => {
    for (const { table, value } of cells)
      if (table !== "blobs") for (const [hex] of String(value).matchAll(/[0-9a-f]{64}/g)) digests.delete(hex);
  });
  if (digests.size > 0) await alone(() => content.write([], { drop: [...digests] }));
}

async function eachPage(content: ContentStore, alone: Alone, use: (cells: ContentCell[]) => void): Promise<void> {
  for (const { name } of content.tables) {
    if (name === "blobs" || name === "meta") continue;
    for (let after: (string | number)[] | null = null, isMore = true; isMore; ) {
      const from: (string | number)[] | null = after;
      after = await alone(() => {
        const page = content.page(name, from, rowsAtOnce);
        use(page.cells);
        return page.next;
      });
      isMore = after !== null;
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
  }
}
