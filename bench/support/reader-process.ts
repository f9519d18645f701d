import { request } from "node:http";
import { brotliDecompressSync } from "node:zlib";
import type { EnvironmentSnapshot, OlderThreads } from "../../schemas/environment-view.ts";
import type { ThreadId } from "../../schemas/ids.ts";
import type { OlderTurns, ThreadSnapshot } from "../../schemas/thread-view.ts";
import { withOlderThreads } from "../../services/http/client/apply-environment.ts";
import { findSocket } from "../../services/http/client/find-socket.ts";
import { connectLocal } from "../../services/http/client.ts";

/** Started in a process of its own, so that what it does itself is no stall of the environment: reads what it is told to. */
export type Read = { what: "list" | "thread" | "references" | "list view" | "thread view"; threadId: ThreadId };
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
  "list view": async () => {
    let view = await viewed<EnvironmentSnapshot>("/view");
    while (view.olderThan != null)
      view = withOlderThreads(view, await viewed<OlderThreads>(`/view/older?limit=1000&before=${view.olderThan}`));
    return view.threads.length;
  },
  async "thread view"(id) {
    const path = `/threads/${id}/view`;
    let view = await viewed<ThreadSnapshot>(path);
    // Turns are counted page by page: what is measured is the environment.
    let turns = view.turns.length;
    while (view.olderThan != null) {
      const page: OlderTurns = await viewed(`${path}/older?limit=1000&before=${view.olderThan}`);
      turns += page.turns.length;
      view = { ...view, olderThan: page.olderThan ?? null };
    }
    return turns;
  },
};

/** A view, compressed on its way. */
function viewed<T>(path: string): Promise<T> {
  const socketPath = findSocket(process.argv[2] ?? "") ?? "";
  return new Promise((resolve, reject) => {
    request({ socketPath, path: `/v1${path}`, headers: { "accept-encoding": "br" } }, async (answer) => {
      const chunks: Buffer[] = [];
      for await (const chunk of answer) chunks.push(chunk as Buffer);
      const body = Buffer.concat(chunks);
      const text = answer.headers["content-encoding"] === "br" ? brotliDecompressSync(body) : body;
      if (answer.statusCode === 200) resolve(JSON.parse(text.toString()) as T);
      else reject(new Error(`${path}: ${text}`));
    })
      .on("error", reject)
      .end();
  });
}

process.on("message", async ({ what, threadId }: Read) => {
  const began = performance.now();
  const records = await reads[what](threadId);
  process.send?.({ records, ms: performance.now() - began } satisfies ReadResult);
});
process.once("disconnect", () => client.close());
