import { encode } from "gpt-tokenizer";
import { describe, expect, test } from "vitest";
import { listing } from "../../../services/mcp/catalogue.ts";
import { until } from "../../support/environments.ts";
import { clientCaller, fresh, type Loose, startMcp, type TestClient } from "./rig.ts";

const client = async (options: Parameters<typeof startMcp>[0] = {}) => {
  const rig = await startMcp(options);
  return { rig, client: await rig.connect(rig.let(clientCaller())) };
};

/** All pages of a listing, by its cursor. */
async function pages(caller: TestClient, tool: string, args: object, member: string): Promise<Loose[][]> {
  const all: Loose[][] = [];
  let cursor: string | null = null;
  do {
    const page: Loose = await caller.use(tool, { ...args, ...(cursor !== null && { cursor }) });
    all.push(page[member]);
    cursor = page.nextCursor;
  } while (cursor !== null && all.length < 100);
  return all;
}

describe("what the list of tools costs an agent", () => {
  const tokens = (value: unknown) => encode(JSON.stringify(value)).length;

  test("the small profile costs at most 1,500 tokens with all that the protocol carries", () => {
    expect(tokens({ tools: listing("small") })).toBeLessThanOrEqual(1_500);
  });

  test("all sixteen tools cost at most 1,600 tokens as a model is given them: name, description and input", () => {
    const seen = listing("full").map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
    expect(seen).toHaveLength(16);
    expect(tokens({ tools: seen })).toBeLessThanOrEqual(1_600);
  });

  test("a thread's agent is listed the small profile, a client the full one, and either may choose; all can be called", async () => {
    const { rig, client: person } = await client();
    const threadId = await rig.env.newThread();
    const token = rig.tokens.make({ threadId, instance: "p1" });
    const agent = await rig.connect(token);
    expect((await agent.listTools()).tools).toHaveLength(8);
    expect((await (await rig.connect(token, { query: "?profile=full" })).listTools()).tools).toHaveLength(16);
    expect((await person.listTools()).tools).toHaveLength(16);
    const small = await rig.connect(rig.let(clientCaller()), { query: "?profile=small", era: "legacy" });
    expect((await small.listTools()).tools).toHaveLength(8);
    expect(await agent.use("t3_environment_links")).toEqual({ links: [] });
    await expect(rig.connect(token, { query: "?profile=huge" })).rejects.toThrow();
  });
});

describe("pages", () => {
  test("a thread is read in pages without gap or repeat, in both directions, across what a fork inherits", async () => {
    const { rig, client: caller } = await client();
    const { env } = rig;
    const parent = await env.newThread();
    for (const text of ["one", "two", "three"]) await env.say(parent, text);
    const { threadId } = await env.send({ type: "thread.fork", threadId: parent, at: { kind: "latest_stable" } });
    for (const text of ["four", "five"]) await env.say(threadId, text);
    const whole = env.threads.items(threadId).map((item) => item.id);
    expect(whole).toHaveLength(11);
    for (const oldestFirst of [true, false]) {
      const read = await pages(caller, "t3_thread_read", { threadId, oldestFirst, limit: 3 }, "items");
      expect(read.map((page) => page.length)).toEqual([3, 3, 3, 2]);
      expect(read.flat().map((item) => item.id)).toEqual(oldestFirst ? whole : whole.toReversed());
      expect(read.flat().filter((item) => item.inherited)).toHaveLength(6);
    }
    const said = await pages(caller, "t3_thread_read", { threadId, oldestFirst: true, messagesOnly: true, limit: 4 }, "items");
    expect(said.flat().map((item) => item.text)).toEqual(
      env.threads
        .items(threadId)
        .flatMap((item) => ("content" in item.body && "text" in item.body.content ? [item.body.content.text] : [])),
    );
  });

  test("what is written between two pages is neither missed nor told twice by who reads forward", async () => {
    const { rig, client: caller } = await client();
    const threadId = await rig.env.newThread();
    await rig.env.say(threadId, "one");
    const first = await caller.use("t3_thread_read", { threadId, oldestFirst: true, limit: 1 });
    await rig.env.say(threadId, "two");
    const rest = await caller.use("t3_thread_read", { threadId, cursor: first.nextCursor });
    expect([...first.items, ...rest.items].map((item: Loose) => item.id)).toEqual(rig.env.threads.items(threadId).map((item) => item.id));
  });

  test("a page is bounded in items and in characters, and a long text is cut and can be read whole as a resource", async () => {
    const long = "rope ".repeat(10_000);
    const { rig, client: caller } = await client({ scripts: { p1: { rules: [{ match: {}, steps: [{ text: long }] }] } } });
    const threadId = await rig.env.newThread();
    for (let i = 0; i < 8; i++) await rig.env.say(threadId, "x".repeat(3_900));
    const page = await caller.use("t3_thread_read", { threadId, limit: 100 });
    const chars = page.items.reduce((sum: number, item: Loose) => sum + item.text.length, 0);
    expect(chars).toBeLessThanOrEqual(24_000);
    expect(page.items.length).toBeLessThan(16);
    const cut = page.items.find((item: Loose) => item.kind === "assistant_message");
    expect(cut).toMatchObject({ cutFromBytes: long.length, text: long.slice(0, 4_000) });
    const { contents } = await caller.readResource({ uri: `ropewalk://thread/${threadId}/item/${cut.id}` });
    expect((contents[0] as { text: string }).text).toBe(long);
    expect((await pages(caller, "t3_thread_read", { threadId, limit: 100 }, "items")).flat()).toHaveLength(16);
    expect(await caller.refused("t3_thread_read", { threadId, limit: 101 })).toMatchObject({ code: "invalid_request" });
  });

  test("threads and transfers come in pages, newest first, each once", async () => {
    const { rig, client: caller } = await client();
    const { env } = rig;
    const made = [];
    for (let i = 0; i < 7; i++) made.push(await env.newThread({ title: `thread ${i}` }));
    const threads = await pages(caller, "t3_thread_list", { limit: 3 }, "threads");
    expect(threads.map((page) => page.length)).toEqual([3, 3, 1]);
    expect(threads.flat().map((thread) => thread.threadId)).toEqual(made.toReversed());

    const threadId = made[0]!;
    await env.say(threadId, "hello");
    const forks = [];
    for (let i = 0; i < 5; i++) forks.push(await env.send({ type: "thread.fork", threadId, at: { kind: "latest_stable" } }));
    await env.say(threadId, "over to you", { provider: { instance: "p2", model: null } });
    const transfers = (await pages(caller, "t3_thread_transfers", { threadId, limit: 2 }, "transfers")).flat();
    expect(transfers.map((transfer) => transfer.type)).toEqual(["provider_handoff", ...forks.map(() => "fork")]);
    expect(transfers.slice(1).map((transfer) => transfer.transferId)).toEqual(forks.map((fork) => fork.transferId).toReversed());
  });

  test.each(["t3_thread_list", "t3_thread_read", "t3_thread_transfers"])("%s refuses a cursor that is not its own", async (tool) => {
    const { rig, client: caller } = await client();
    const threadId = await rig.env.newThread();
    const args = tool === "t3_thread_list" ? {} : { threadId };
    for (const cursor of ["", "x", Buffer.from('{"after":7,"target":7}').toString("base64url"), Buffer.from("[").toString("base64url")])
      expect(await caller.refused(tool, { ...args, cursor }), cursor).toMatchObject({ code: "invalid_request", reason: "bad_cursor" });
  });
});

describe("resources", () => {
  test("threads are listed in pages, read, and their templates told", async () => {
    const { rig, client: caller } = await client();
    for (let i = 0; i < 60; i++) await rig.env.newThread();
    const first = await caller.listResources({});
    // The client follows the cursor by itself where it can; what counts is that every thread is there once.
    const uris = new Set(first.resources.map((resource) => resource.uri));
    for (let cursor = first.nextCursor; cursor !== undefined; ) {
      const page = await caller.listResources({ cursor });
      for (const { uri } of page.resources) uris.add(uri);
      cursor = page.nextCursor;
    }
    expect(uris.size).toBe(60);
    expect((await caller.listResourceTemplates()).resourceTemplates.map((template) => template.uriTemplate)).toEqual([
      "ropewalk://thread/{threadId}",
      "ropewalk://thread/{threadId}/item/{itemId}",
      "ropewalk://handoff/{handoffId}",
      "ropewalk://task/{taskId}/result",
    ]);
    const threadId = await rig.env.newThread({ title: "read me" });
    await rig.env.say(threadId, "hello");
    const { contents } = await caller.readResource({ uri: `ropewalk://thread/${encodeURIComponent(threadId)}` });
    expect(JSON.parse((contents[0] as { text: string }).text)).toMatchObject({
      thread: { threadId, title: "read me" },
      items: [{ kind: "user_message", text: "hello" }, { kind: "assistant_message" }],
    });
  });

  test.each([
    "ropewalk://thread/thread:0197f000-0000-7000-8000-000000000001",
    "ropewalk://handoff/handoff:0197f000-0000-7000-8000-000000000001",
    "ropewalk://thread/nonsense",
    "ropewalk://thread",
    "ropewalk://elsewhere/1",
    "file:///etc/passwd",
    "ropewalk://thread/%E0%A4%A/item/%",
  ])("what is not there is the protocol's own error: %s", async (uri) => {
    const { rig, client: caller } = await client();
    await expect(caller.readResource({ uri })).rejects.toMatchObject({ code: -32602 });
    expect(rig.errors).toEqual([]);
  });

  test.each(["legacy", "modern"] as const)("who subscribed to a thread is told that it changed, over the %s revision", async (era) => {
    const { rig } = await client();
    const caller = await rig.connect(rig.let(clientCaller()), { era });
    const threadId = await rig.env.newThread();
    const uri = `ropewalk://thread/${threadId}`;
    const told: string[] = [];
    caller.setNotificationHandler("notifications/resources/updated", ({ params }) => void told.push(params.uri));
    if (era === "legacy") await caller.subscribeResource({ uri });
    else await caller.listen({ resourceSubscriptions: [uri] });
    await rig.env.say(await rig.env.newThread(), "somewhere else");
    await rig.env.say(threadId, "hello");
    await until(() => told.length > 0);
    expect(new Set(told)).toEqual(new Set([uri]));
  });
});

test("a caller's own thread and a text with every kind of character come back as they were", async () => {
  const { rig, client: caller } = await client();
  const text = 'naïve 🪢 rope\u0000\n\t<tag> "quoted" \\';
  const { threadId, runId } = await caller.use("t3_thread_launch", { prompt: text, clientRequestId: fresh() });
  await rig.env.ended(runId);
  const { items } = await caller.use("t3_thread_read", { threadId, oldestFirst: true });
  expect(items[0].text).toBe(text);
});
