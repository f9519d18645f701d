import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import type { ThreadId } from "../../../schemas/ids.ts";
import { createHttpApp } from "../../../services/http/app.ts";
import { pageOf } from "../../../services/http/page.ts";
import { type Home, home } from "./rig.ts";

let at: Home;
let app: ReturnType<typeof createHttpApp>;
beforeAll(async () => {
  at = await home();
  app = createHttpApp(at.environment);
});

// biome-ignore lint/suspicious/noExplicitAny: listings of every kind
type Listing = { next: string | null } & Record<string, any>;
async function read(path: string): Promise<Listing> {
  const response = await app.request(`/v1${path}`);
  const body = (await response.json()) as Listing;
  expect([path, response.status, body.hint ?? null]).toEqual([path, 200, null]);
  return body;
}

/** Ids of a whole listing, page by page; `between` is called between two pages. */
async function whole(path: string, member: string, limit: number, between: () => Promise<unknown> = async () => {}): Promise<string[]> {
  const ids: string[] = [];
  const mark = path.includes("?") ? "&" : "?";
  for (let cursor: string | null = ""; cursor !== null; ) {
    const page: Listing = await read(`${path}${mark}limit=${limit}${cursor === "" ? "" : `&cursor=${cursor}`}`);
    const records = page[member] as { id: string }[];
    expect(records.length).toBeLessThanOrEqual(limit);
    ids.push(...records.map(({ id }) => id));
    cursor = page.next;
    if (cursor !== null) await between();
  }
  return ids;
}

describe("while things are committed between two pages, nothing is missed and nothing told twice", () => {
  test("of the threads: all that were there when the reading began, in their order", async () => {
    for (let i = 0; i < 12; i += 1) await at.send({ type: "thread.create", title: String(i) });
    const before = (await read("/threads")).threads.map((thread: { id: string }) => thread.id);
    for (const limit of [1, 3, 5, 100]) {
      const there = limit === 1 ? before : (await read("/threads")).threads.map((thread: { id: string }) => thread.id);
      const told = await whole("/threads", "threads", limit, () => at.send({ type: "thread.create", title: "meanwhile" }));
      expect(told).toEqual(there);
    }
  });

  test("of a thread's items: from the newest end all that were there, from the oldest also what came", async () => {
    const threadId = await at.thread("1", "2", "3", "4");
    const say = async () => {
      const { runId } = await at.send({ type: "thread.send", threadId, text: "more" });
      await at.environment.runs.wait(runId, { timeoutMs: 20_000 });
    };
    const before = at.environment.threads.items(threadId).map((item) => item.id);
    expect(await whole(`/threads/${threadId}/items?newestFirst=1`, "items", 3, say)).toEqual(before.toReversed());
    let more = 2;
    const told = await whole(`/threads/${threadId}/items`, "items", 4, async () => (more-- > 0 ? say() : undefined));
    expect(told).toEqual(at.environment.threads.items(threadId).map((item) => item.id));
    const runs = at.environment.threads.runs(threadId).map((run) => run.id);
    expect(await whole(`/threads/${threadId}/runs`, "runs", 2)).toEqual(runs);
    expect(await whole(`/threads/${threadId}/runs?newestFirst=1`, "runs", 2)).toEqual(runs.toReversed());
    const points = at.environment.threads.checkpoints(threadId).map((point) => point.id);
    expect(points).toHaveLength(runs.length);
    expect(await whole(`/threads/${threadId}/checkpoints`, "checkpoints", 2)).toEqual(points);
  });
});

test("a fork's items go on from what it inherits into its own, at every size of page, from either end", async () => {
  const source = await at.thread("a", "b", "c");
  const { threadId } = await at.send({ type: "thread.fork", threadId: source, at: { kind: "latest_stable" } });
  const { runId } = await at.send({ type: "thread.send", threadId, text: "d" });
  await at.environment.runs.wait(runId, { timeoutMs: 20_000 });
  const { threadId: second } = await at.send({ type: "thread.fork", threadId, at: { kind: "latest_stable" } });
  // What comes into the source after the fork is not the fork's.
  const later = await at.send({ type: "thread.send", threadId: source, text: "not the fork's" });
  await at.environment.runs.wait(later.runId, { timeoutMs: 20_000 });
  for (const id of [threadId, second]) {
    const all = at.environment.threads.items(id).map((item) => item.id);
    for (const limit of [1, 2, 3, 5, 1_000]) {
      expect(await whole(`/threads/${id}/items`, "items", limit)).toEqual(all);
      expect(await whole(`/threads/${id}/items?newestFirst=true`, "items", limit)).toEqual(all.toReversed());
    }
    const own = at.environment.threads.items(id, { ownOnly: true }).map((item) => item.id);
    expect(await whole(`/threads/${id}/items?ownOnly=1`, "items", 1)).toEqual(own);
  }
  // An item of the source that the fork does not show is no place in the fork.
  const alien = at.environment.threads.items(source, { newestFirst: true, limit: 1 })[0]!.id;
  const refused = await app.request(`/v1/threads/${threadId}/items?cursor=${alien}`);
  expect([refused.status, ((await refused.json()) as { reason: string }).reason]).toEqual([400, "unknown_cursor"]);
});

test("transfers and tasks are listed whole from either end", async () => {
  const parent = await at.thread("parent");
  for (let i = 0; i < 5; i += 1) await at.send({ type: "task.spawn", parentThreadId: parent, prompt: `task ${i}` });
  const tasks = at.environment.tasks.list({ parent }).map((task) => task.id);
  expect(tasks).toHaveLength(5);
  expect(await whole(`/tasks?parent=${parent}`, "tasks", 2)).toEqual(tasks);
  expect(await whole(`/tasks?parent=${parent}&newestFirst=0`, "tasks", 2)).toEqual(tasks.toReversed());
  const transfers = at.environment.transfers.list().map((transfer) => transfer.id);
  expect(transfers.length).toBeGreaterThan(5);
  expect(await whole("/transfers", "transfers", 2)).toEqual(transfers);
  expect(await whole("/transfers?newestFirst=true", "transfers", 3)).toEqual(transfers.toReversed());
});

test("a page ends by its size as well as by its limit, and is never empty before the end", () => {
  const record = fc.record({ id: fc.uuid(), text: fc.integer({ min: 0, max: 150_000 }).map((size) => "x".repeat(size)) });
  fc.assert(
    fc.property(fc.uniqueArray(record, { selector: ({ id }) => id, maxLength: 40 }), fc.integer({ min: 1, max: 20 }), (records, limit) => {
      const read = (after: { id: string } | undefined, most: number) => {
        const from = after === undefined ? 0 : records.findIndex(({ id }) => id === after.id) + 1;
        return records.slice(from, from + most);
      };
      const told: string[] = [];
      let place: (typeof records)[number] | undefined;
      for (let next: string | null = ""; next !== null; ) {
        const page = pageOf(limit, place, read);
        expect(page.records.length).toBeLessThanOrEqual(limit);
        if (page.next !== null) expect(page.records.length).toBeGreaterThan(0);
        const size = page.records.slice(0, -1).reduce((sum, { text }) => sum + text.length, 0);
        expect(size).toBeLessThan(192 * 1024);
        told.push(...page.records.map(({ id }) => id));
        place = page.records.at(-1);
        next = page.next;
      }
      expect(told).toEqual(records.map(({ id }) => id));
    }),
    { numRuns: 60 },
  );
});

test("a record that cannot be read ends no listing before its end", () => {
  const records = Array.from({ length: 100 }, (_, n) => ({ id: String(n) }));
  const poisoned = new Set(["3", "4", "99"]);
  const read = (after: { id: string } | undefined, most: number) => {
    const from = after === undefined ? 0 : Number(after.id) + 1;
    return records.slice(from, from + most).filter(({ id }) => !poisoned.has(id));
  };
  expect(pageOf(1_000, undefined, read)).toEqual({ records: records.filter(({ id }) => !poisoned.has(id)), next: null });
  expect(pageOf(3, undefined, read)).toEqual({ records: records.slice(0, 3), next: "2" });
});

describe("a text of an item", () => {
  test("is read whole or by range, whether it is kept in the item or apart", async () => {
    const text = `${"ä".repeat(20_000)}end`;
    const threadId = await at.thread("short", text);
    const [small, , large] = at.environment.threads.items(threadId).map((item) => item.id);
    const get = (id: string, range?: string, more: Record<string, string> = {}) =>
      app.request(`/v1/items/${id}/content/content`, { headers: { ...more, ...(range !== undefined && { range }) } });
    expect(await (await get(small!)).text()).toBe("short");
    const whole = await get(large!);
    expect([whole.status, whole.headers.get("content-type"), whole.headers.get("content-length")]).toEqual([
      200,
      "text/plain; charset=utf-8",
      "40003",
    ]);
    expect(await whole.text()).toBe(text);
    const end = await get(large!, "bytes=-3");
    expect([end.status, end.headers.get("content-range"), await end.text()]).toEqual([206, "bytes 40000-40002/40003", "end"]);
    expect(await (await get(large!, "bytes=40000-99999")).text()).toBe("end");
    expect((await get(large!, "bytes=0-1")).headers.get("content-range")).toBe("bytes 0-1/40003");
    const behind = await get(large!, "bytes=40003-");
    expect([behind.status, behind.headers.get("content-range")]).toEqual([416, "bytes */40003"]);
    expect((await get(large!, "bytes=5-2")).status).toBe(200);
    expect((await get(large!, "lines=1-2")).status).toBe(200);
    // What the program has already may be of other bytes.
    const etag = whole.headers.get("etag") ?? "";
    expect((await get(large!, "bytes=0-0", { "if-range": etag })).status).toBe(206);
    expect((await get(large!, "bytes=0-0", { "if-range": '"other"' })).status).toBe(200);
  });
});

test("a short reference finds what begins so, with or without dashes, within a thread or anywhere", async () => {
  const threadId = await at.thread("one", "two");
  const other = await at.thread("three");
  const resolve = async (noun: string, query: string) => (await read(`/resolve/${noun}?${query}`)).ids as string[];
  const uuid = threadId.slice("thread:".length);
  for (const ref of [
    threadId,
    uuid,
    uuid.slice(0, 30),
    uuid.replaceAll("-", ""),
    uuid.replaceAll("-", "").slice(0, 26),
    `thread:${uuid.slice(0, 31)}`,
    uuid.toUpperCase(),
  ])
    expect([ref, await resolve("thread", `ref=${ref}`)]).toEqual([ref, [threadId]]);
  const runs = at.environment.threads.runs(threadId).map((run) => run.id);
  expect(await resolve("run", `ref=@last&within=${threadId}`)).toEqual([runs[1]]);
  expect(await resolve("run", `ref=1&within=${threadId}`)).toEqual([runs[0]]);
  expect((await resolve("run", `ref=0&within=${threadId}`)).sort()).toEqual([...runs].sort());
  expect(await resolve("run", `ref=${runs[0]}&within=${other}`)).toEqual([]);
  expect(await resolve("checkpoint", `ref=2&within=${threadId}`)).toEqual([at.environment.threads.checkpoints(threadId)[1]!.id]);
  expect(await resolve("thread", "ref=@last")).toEqual([other]);
  for (const ref of ["zzz", "%25", "thread:", "import:", "-", "_", "0' or 1"])
    expect([ref, await resolve("thread", `ref=${ref}`)]).toEqual([ref, []]);
  const imported = await at.send({
    type: "thread.import",
    import: { handoffId: "h", sourceEnvironmentId: "e", sourceThreadId: "t", messages: [{ role: "user", text: "hello" }] },
  });
  const digest = imported.threadId.slice("thread:import:".length);
  for (const ref of [digest.slice(0, 9), `import:${digest.slice(0, 9)}`, imported.threadId])
    expect(await resolve("thread", `ref=${ref}`)).toEqual([imported.threadId]);
  expect(await resolve("thread", "ref=@last")).toEqual([imported.threadId as ThreadId]);
});
