import type { RunId, ThreadId } from "../../schemas/ids.ts";
import type { NewItem } from "../../schemas/item.ts";
import { systemIdentifiers as ids } from "../../services/runtime/system-identifiers.ts";
import { openStore, type SqliteStore } from "../../services/store/sqlite-store.ts";
import { batchOf, rowLike } from "./batches.ts";
import { withEnvironmentIn } from "./environment.ts";

/** A thread with a few real runs in a new store: what the many others are made like. */
async function template(dir: string, runs: number): Promise<ThreadId> {
  return withEnvironmentIn(dir, async (environment) => {
    const { threadId } = await environment.send({ type: "thread.create", title: "first" });
    for (let i = 0; i < runs; i += 1) {
      const { runId } = await environment.send({ type: "thread.send", threadId, text: `Message ${i + 1}` });
      await environment.runs.wait(runId);
    }
    return threadId;
  });
}

const itemOf = (threadId: ThreadId, runId: RunId | null, runOrdinal: number, text: string): NewItem => ({
  id: ids.next("item"),
  threadId,
  runId,
  runOrdinal,
  nativeId: null,
  truncated: false,
  createdAt: Date.now(),
  body: { kind: "assistant_message", content: { text } },
});

/** A thread of `count` completed runs, written through the store's own commits as its machines would have left it. */
export async function threadOfRuns(dir: string, count: number, itemsPerRun = 1): Promise<ThreadId> {
  const threadId = await template(dir, 2);
  const store = openStore(dir);
  try {
    const thread = store.actor(threadId);
    const [run] = store.actorsBy({ kind: "run", owner: threadId });
    if (thread === null || run === undefined) throw new Error("no template");
    for (let from = 3; from <= count; from += 500) {
      const ordinals = Array.from({ length: Math.min(500, count - from + 1) }, (_, i) => from + i);
      const runs = ordinals.map((ordinal) => ({ ordinal, id: ids.next("run"), checkpointId: ids.next("checkpoint") }));
      store.commit(
        batchOf({
          actors: runs.map((r) => rowLike(run, r.id, { ordinal: r.ordinal, checkpointId: r.checkpointId }, { ordinal: r.ordinal })),
          items: runs.flatMap((r) =>
            Array.from({ length: itemsPerRun }, (_, i) =>
              itemOf(threadId, r.id, r.ordinal, `Answer ${r.ordinal}${i === 0 ? "" : `.${i}`}`),
            ),
          ),
          checkpoints: runs.map((r) => ({
            id: r.checkpointId,
            threadId,
            runId: r.id,
            ordinal: r.ordinal,
            workspaceRef: null,
            createdAt: Date.now(),
          })),
        }),
      );
      const last = runs.at(-1);
      if (last === undefined) continue;
      const latestStable = { runId: last.id, ordinal: last.ordinal, checkpointId: last.checkpointId };
      store.commit(batchOf({ actors: [rowLike(thread, threadId, { lastOrdinal: last.ordinal, latestStable })] }));
    }
    return threadId;
  } finally {
    store.close();
  }
}

/** `threads` idle threads with `items` items between them. */
export async function manyThreads(dir: string, threads: number, items: number): Promise<void> {
  const threadId = await template(dir, 1);
  const store = openStore(dir);
  try {
    const made = copies(store, threadId, threads);
    const text = "Every part of it was looked at, and what was found is written down here in a sentence of ordinary length.";
    for (let from = 0; from < items; from += 5_000) {
      const size = Math.min(5_000, items - from);
      const rows = Array.from({ length: size }, (_, i) => itemOf(made[(from + i) % made.length] as ThreadId, null, 0, text));
      store.commit(batchOf({ items: rows }));
    }
  } finally {
    store.close();
  }
}

function copies(store: SqliteStore, like: ThreadId, count: number): ThreadId[] {
  const thread = store.actor(like);
  if (thread === null) throw new Error("no template");
  const made: ThreadId[] = [];
  for (let from = 0; from < count; from += 1_000) {
    const next = Array.from({ length: Math.min(1_000, count - from) }, () => ids.next("thread"));
    made.push(...next);
    store.commit(batchOf({ actors: next.map((id, i) => rowLike(thread, id, {}, { ordinal: (thread.ordinal ?? 0) + from + i + 1 })) }));
  }
  return made;
}
