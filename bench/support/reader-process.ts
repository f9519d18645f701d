import type { ThreadId } from "../../schemas/ids.ts";
import { connectLocal } from "../../services/http/client.ts";

/** Started in a process of its own, so that what it does itself is no stall of the environment: reads what it is told to. */
export type Read = { what: "list" | "thread" | "references"; threadId: ThreadId };
export type ReadResult = { records: number; ms: number };

const client = connectLocal(process.argv[2] ?? "");
const everything = 1_000_000;

const reads: Record<Read["what"], (id: ThreadId) => Promise<number>> = {
  list: async () => (await client.threads({ includeDeleted: true, limit: everything })).threads.length,
  async thread(id) {
    const { items, runs } = await client.snapshot(id, { limit: everything, newestFirst: true });
    const { checkpoints } = await client.checkpoints(id);
    return items.length + runs.length + checkpoints.length;
  },
  async references(id) {
    const { thread } = await client.thread(id);
    const asked = [
      client.resolve("thread", { ref: "0" }),
      client.resolve("thread", { ref: thread.id.slice(7, 15) }),
      client.resolve("run", { ref: "@last", within: id }),
      client.resolve("run", { ref: String(thread.lastOrdinal), within: id }),
      client.resolve("run", { ref: "0", within: id }),
      client.resolve("checkpoint", { ref: "0", within: id }),
    ];
    return (await Promise.all(asked)).reduce((sum, { ids }) => sum + ids.length, 0);
  },
};

process.on("message", async ({ what, threadId }: Read) => {
  const began = performance.now();
  const records = await reads[what](threadId);
  process.send?.({ records, ms: performance.now() - began } satisfies ReadResult);
});
process.once("disconnect", () => client.close());
