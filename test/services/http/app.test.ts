import { beforeAll, describe, expect, test } from "vitest";
import { createHttpApp } from "../../../services/http/app.ts";
import { DescribedApi } from "../../support/openapi.ts";
import { type Home, home } from "./rig.ts";

let at: Home;
let app: ReturnType<typeof createHttpApp>;
beforeAll(async () => {
  at = await home();
  app = createHttpApp(at.environment, { maxBodyBytes: 20_000_000 });
});

type Body = string | Uint8Array<ArrayBuffer>;
// biome-ignore lint/suspicious/noExplicitAny: what routes answer is what the tests look at
type Answer = { status: number; body: any };
const api = new DescribedApi();
/** An answer, held against the API's document; problem details as the refusal that they hold. */
async function ask(method: string, path: string, init: RequestInit = {}): Promise<Answer> {
  const response = await app.request(`/v1${path}`, { method, ...init });
  const text = await response.text();
  const media = response.headers.get("content-type");
  expect(api.fault({ method, path: `/v1${path}`, status: response.status, type: media, body: text })).toBeNull();
  const body = JSON.parse(text);
  if (response.ok) return { status: response.status, body };
  expect(response.headers.get("content-type")).toBe("application/problem+json");
  const { code, reason, detail, hint, details, type, status, title, ...more } = body;
  expect({ type, status }).toEqual({ type: `/v1/problems/${code}`, status: response.status });
  expect(title).toMatch(/./);
  return { status: response.status, body: { ok: false, refusal: { code, reason, message: detail, hint, details }, ...more } };
}
const get = (path: string): Promise<Answer> => ask("GET", path);
const json = { "content-type": "application/json" };
const post = (body: Body): Promise<Answer> => ask("POST", "/commands", { body, headers: json });
let lastId = 0;
function command(content: unknown, id?: string): Promise<Answer> {
  lastId += 1;
  return post(JSON.stringify({ id: id ?? `cmd:test-${lastId}`, command: content }));
}
const unknown = "01a22d31-9dc2-7749-a2be-000000000000";

describe("commands", () => {
  test("an accepted one answers with its receipt; its repeat with the same receipt, marked", async () => {
    const first = await command({ type: "thread.create", title: "one" }, "cmd:me:1");
    expect(first).toMatchObject({
      status: 200,
      body: { ok: true, commandId: "cmd:me:1", repeated: false, result: { threadId: expect.stringMatching(/^thread:/) } },
    });
    expect(await command({ type: "thread.create", title: "one" }, "cmd:me:1")).toEqual({
      status: 200,
      body: { ...first.body, repeated: true },
    });
    expect(await command({ type: "thread.create", title: "two" }, "cmd:me:1")).toMatchObject({
      status: 409,
      body: { ok: false, refusal: { code: "idempotency_conflict" } },
    });
  });

  test("each code has a status of its own kind", async () => {
    const threadId = await at.thread();
    expect(await command({ type: "thread.send", threadId: `thread:${unknown}`, text: "x" })).toMatchObject({
      status: 404,
      body: { refusal: { code: "thread_not_found" } },
    });
    expect(await command({ type: "thread.fork", threadId, at: { kind: "latest_stable" } })).toMatchObject({
      status: 400,
      body: { refusal: { reason: "no_stable_point" } },
    });
    expect(await command({ type: "thread.interrupt", threadId })).toMatchObject({
      status: 409,
      body: { refusal: { code: "thread_not_interruptible" } },
    });
    expect(await command({ type: "thread.send", threadId, text: "x", provider: { instance: "gone", model: null } })).toMatchObject({
      status: 503,
    });
  });

  test("whatever is malformed is refused with a reason and a hint, and nothing is written", async () => {
    const before = at.environment.health().counts;
    const table: [Body, number, string][] = [
      ["", 400, "malformed_json"],
      ["{", 400, "malformed_json"],
      ["[".repeat(100_000), 400, "malformed_json"],
      ["null", 400, "malformed"],
      ['{"id":"cmd:x"}', 400, "malformed"],
      ['{"id":"thread:1","command":{"type":"thread.create"}}', 400, "malformed"],
      ['{"id":"cmd:x","command":{"type":"thread.create"},"caller":{"kind":"system"}}', 400, "malformed"],
      ['{"id":"cmd:x","command":{"type":"run.ended"}}', 400, "malformed"],
      ['{"id":"cmd:x","command":{"type":"thread.create","title":"\\ud800"}}', 400, "ill_formed_unicode"],
      [new Uint8Array([0x22, 0xc3, 0x28, 0x22]), 400, "ill_formed_unicode"],
      [`{"id":"cmd:x","command":{"type":"thread.create","title":"${"t".repeat(513)}"}}`, 400, "limit_exceeded"],
      [" ".repeat(20_000_001), 413, "too_large"],
    ];
    for (const [body, status, reason] of table) {
      expect(await post(body), String(body).slice(0, 60)).toMatchObject({
        status,
        body: { ok: false, refusal: { code: "invalid_request", reason, hint: expect.stringMatching(/./) } },
      });
    }
    expect(at.environment.health().counts).toEqual(before);
  });

  test("deep nesting with half a character in it is refused, not fallen over", async () => {
    const deep = `${"[".repeat(50_000)}"\\udc00"${"]".repeat(50_000)}`;
    expect(await post(deep)).toMatchObject({ status: 400, body: { refusal: { reason: "ill_formed_unicode" } } });
  });

  test("a body above 8 MiB is parsed aside, with the same answers", async () => {
    const messages = Array.from({ length: 100 }, (_, n) => ({ role: "user", text: `${n}${"ä".repeat(60_000)}` }));
    const request = { handoffId: "big", sourceEnvironmentId: "e", sourceThreadId: "t", messages };
    const done = await command({ type: "thread.import", import: request });
    expect(done).toMatchObject({ status: 200, body: { result: { created: true } } });
    expect(at.environment.threads.items(done.body.result.threadId)).toHaveLength(100);
    expect(await post(`{"x":"${"y".repeat(9_000_000)}`)).toMatchObject({ status: 400, body: { refusal: { reason: "malformed_json" } } });
    expect(await post(`["${"y".repeat(9_000_000)}\\ud800"]`)).toMatchObject({
      status: 400,
      body: { refusal: { reason: "ill_formed_unicode" } },
    });
  });
});

describe("reads", () => {
  test("a snapshot holds all of a thread at one commit", async () => {
    const threadId = await at.thread("hello", "again");
    const { body } = await get(`/threads/${threadId}/snapshot`);
    expect(body).toMatchObject({
      commit: at.environment.lastCommit,
      thread: { id: threadId, status: "idle" },
      progress: null,
      transfers: [],
      tasks: [],
    });
    expect(body.runs.map((run: { status: string }) => run.status)).toEqual(["completed", "completed"]);
    expect(body.items).toHaveLength(4);
    expect((await get(`/threads/${threadId}`)).body.thread).toEqual(body.thread);
    expect((await get(`/runs/${body.runs[0].id}`)).body.run).toEqual(body.runs[0]);
  });

  test("items come in pages from either end", async () => {
    const threadId = await at.thread("1", "2", "3");
    const all = (await get(`/threads/${threadId}/items`)).body.items.map((item: { id: string }) => item.id);
    expect(all).toHaveLength(6);
    const ids = async (query: string) =>
      (await get(`/threads/${threadId}/items?${query}`)).body.items.map((item: { id: string }) => item.id);
    expect(await ids("limit=2")).toEqual(all.slice(0, 2));
    expect(await ids(`limit=2&cursor=${all[3]}`)).toEqual(all.slice(4));
    expect(await ids("limit=2&newestFirst=1")).toEqual(all.toReversed().slice(0, 2));
    expect(await ids(`limit=4&cursor=${all[4]}&newestFirst=true`)).toEqual(all.toReversed().slice(2));
  });

  test("transfers, their history and their handoffs are there to look at", async () => {
    const source = await at.thread("the codeword is tulip");
    const { threadId } = await at.send({ type: "thread.fork", threadId: source, at: { kind: "latest_stable" } });
    const { runId } = await at.send({ type: "thread.send", threadId, text: "go on" });
    await at.environment.runs.wait(runId, { timeoutMs: 20_000 });
    const { transfers } = (await get(`/transfers?target=${threadId}`)).body;
    expect(transfers).toMatchObject([{ type: "fork", status: "consumed", sourceThreadId: source }]);
    const { history } = (await get(`/transfers/${transfers[0].id}/history`)).body;
    expect(history.map((step: { to: string }) => step.to).at(-1)).toBe("consumed");
  });

  test("waiting is bounded, and a wait that is over answers at once", async () => {
    const threadId = await at.thread("done");
    const runId = at.environment.threads.runs(threadId)[0]?.id;
    expect((await get(`/runs/${runId}/wait?timeoutMs=60000`)).body.run.status).toBe("completed");
    expect((await get(`/requests/req:${unknown}/wait?timeoutMs=1`)).body.answer).toBeNull();
  });

  test("the rest of the routes answer with what the environment has", async () => {
    await at.thread("hello");
    for (const [path, member] of [
      ["/environment", "environment"],
      ["/health", "health"],
      ["/threads", "threads"],
      ["/tasks", "tasks"],
      ["/links", "links"],
      ["/projects", "projects"],
      ["/providers", "providers"],
      ["/charts", "kinds"],
      ["/charts/transfer", "legality"],
      ["/resolve/thread?ref=@last", "ids"],
    ] as const) {
      expect(await get(path), path).toMatchObject({ status: 200, body: { [member]: expect.anything() } });
    }
  });

  test("what is not there, misspelled or unknown is a refusal with a hint, never an empty answer", async () => {
    for (const [path, status, refusal] of [
      [`/threads/thread:${unknown}`, 404, { code: "thread_not_found" }],
      [`/threads/thread:${unknown}/items`, 404, { code: "thread_not_found" }],
      [`/runs/run:${unknown}`, 404, { code: "run_not_found" }],
      [`/runs/run:${unknown}/wait`, 404, { code: "run_not_found" }],
      [`/tasks/task:${unknown}`, 404, { code: "task_not_found" }],
      [`/transfers/transfer:${unknown}`, 404, { code: "invalid_request", reason: "not_found" }],
      [`/handoffs/handoff:${unknown}`, 404, { reason: "not_found" }],
      [`/blobs/${"0".repeat(64)}`, 404, { reason: "not_found" }],
      ["/threads/nonsense", 400, { reason: "malformed" }],
      ["/threads?limt=3", 400, { reason: "malformed" }],
      ["/threads?limit=-3", 400, { reason: "malformed" }],
      ["/charts/machine", 400, { reason: "malformed" }],
      ["/feed", 400, { reason: "malformed" }],
      ["/feed?after=1000000", 409, { reason: "ahead_of_store" }],
      ["/nowhere", 404, { reason: "unknown_route" }],
      ["/shutdown", 404, { reason: "unknown_route" }],
    ] as const) {
      expect(await get(path), path).toMatchObject({
        status,
        body: { ok: false, refusal: { ...refusal, hint: expect.stringMatching(/./) } },
      });
    }
  });
});
