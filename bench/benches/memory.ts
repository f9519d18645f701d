import { createActor } from "xstate";
import { runMachine } from "../../actors/run.ts";
import type { ThreadId } from "../../schemas/ids.ts";
import { HotActors } from "../../services/runtime/hot-actors.ts";
import { openStore } from "../../services/store/sqlite-store.ts";
import { type Bench, bounded, figure } from "../figure.ts";
import { withEnvironmentIn } from "../support/environment.ts";
import { withFolder } from "../support/folder.ts";
import { manyThreads } from "../support/populate.ts";
import { start } from "../support/start.ts";

function heap(): number {
  for (let i = 0; i < 4; i += 1) global.gc?.();
  return process.memoryUsage().heapUsed;
}

/** What `make` leaves in the heap, per one of `count`. */
function perOne(count: number, make: () => unknown): number {
  const before = heap();
  const kept = make();
  const after = heap();
  // Looked at afterwards, so that it is there while it is weighed.
  if (kept === undefined) throw new Error("nothing was made");
  return (after - before) / count;
}

/** Heap of actors at rest that a running environment knows, of hot ones, and, for orientation, of live ones of the library. */
export const memory: Bench = ({ quick }) =>
  withFolder(async (dir) => {
    const count = quick ? 1_000 : 10_000;
    await manyThreads(dir, count, 1_000);
    const parked: number[] = [];
    await withEnvironmentIn(dir, async (environment) => {
      const before = heap();
      // Everything that is asked for once, page by page, as an interface does; nothing of it is kept.
      let seen = 0;
      let after: ThreadId | undefined;
      for (let page = environment.threads.list({ limit: 500 }); page.length > 0; page = environment.threads.list({ limit: 500, after })) {
        seen += page.length;
        after = page.at(-1)?.id;
        if (after === undefined || seen > count * 2) break;
      }
      parked.push(Math.max(0, heap() - before) / seen);
    });
    const { rssMB: rss } = await start(dir, "all");
    const store = openStore(dir);
    const hot = new HotActors(store, count);
    const each = perOne(count, () => store.actorIds({ kind: "thread", limit: count }).map((id) => hot.actor(id)?.seq));
    store.close();
    const live = perOne(1_000, () =>
      Array.from({ length: 1_000 }, (_, i) => createActor(runMachine, { input: { input: { id: `run:${i}` } } as never }).start()),
    );
    return [
      bounded(`resident memory, ${count} parked threads, all read once`, "MB", [rss], 150),
      bounded("heap per parked thread", "B", parked, 1_024),
      figure("heap per hot thread", "B", [each]),
      figure("heap per live actor of the library", "B", [live]),
    ];
  });
