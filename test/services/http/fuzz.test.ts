import { request as httpRequest, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { createAdaptorServer } from "@hono/node-server";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import type { Caller } from "../../../schemas/command.ts";
import { ClientId, type RunId } from "../../../schemas/ids.ts";
import { createHttpApp } from "../../../services/http/app.ts";
import { type ApiRequest, apiRequests, requestsForAll } from "../../support/api-requests.ts";
import { startEnvironment, type TestEnvironment, until } from "../../support/environments.ts";
import { type IdPool, inhabited } from "../../support/fuzzed.ts";
import { expectJournalsFold, expectSound } from "../../support/invariants.ts";
import { DescribedApi } from "../../support/openapi.ts";

const script = {
  rules: [
    { match: { contains: "hang" }, steps: [{ hang: true }] },
    { match: { contains: "fail" }, steps: [{ fail: { message: "it failed" } }] },
  ],
};

const callers: (Caller | null)[] = [
  { kind: "user" },
  { kind: "user" },
  {
    kind: "client",
    clientId: ClientId.parse("client:narrow"),
    maxModes: { runtimeMode: "auto-accept-edits", interactionMode: "default" },
    access: ["reads", "writes", "writes_threads", "starts_threads"],
  },
  { kind: "client", clientId: ClientId.parse("client:none"), maxModes: { runtimeMode: "auto", interactionMode: "plan" }, access: [] },
  null,
];

type Fuzzed = { env: TestEnvironment; pool: IdPool; port: number; errors: Error[] };

async function served(): Promise<Fuzzed> {
  const env = await startEnvironment({ scripts: { p1: script, p2: null } });
  const pool = await inhabited(env);
  const errors: Error[] = [];
  let asked = 0;
  const app = createHttpApp(env, {
    callerOf(request) {
      const given = request.headers.get("x-caller");
      if (given !== null) return given === "agent" ? { kind: "thread", threadId: pool.thread![0] as never, runId: null } : { kind: "user" };
      return callers[asked++ % callers.length] ?? null;
    },
    maxBodyBytes: 1_000_000,
    heartbeatMs: 20,
    onError: (error) => errors.push(error),
    shutdown: () => {},
  });
  const server = createAdaptorServer({ fetch: app.fetch }) as Server;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { env, pool, port: (server.address() as AddressInfo).port, errors };
}

type Answer = { status: number; type: string | null; body: string };

/** Sends a request as it is; null where it is none that HTTP can carry. A stream is read up to its first lines. */
function send(port: number, { method, path, headers, body }: ApiRequest): Promise<Answer | null> {
  return new Promise((resolve, reject) => {
    let outgoing: ReturnType<typeof httpRequest>;
    try {
      const length = body === null ? {} : { "content-length": Buffer.byteLength(body) };
      outgoing = httpRequest({ host: "127.0.0.1", port, method, path, headers: { ...headers, ...length }, agent: false });
    } catch {
      resolve(null);
      return;
    }
    outgoing.once("response", (incoming) => {
      const type = incoming.headers["content-type"] ?? null;
      const encoding = incoming.headers["content-encoding"];
      const chunks: Buffer[] = [];
      const isStream = type === "application/x-ndjson";
      const text = () => {
        const bytes = Buffer.concat(chunks);
        if (isStream) return encoding === undefined ? bytes.toString().slice(0, bytes.toString().lastIndexOf("\n") + 1) : "";
        return (encoding === "gzip" ? gunzipSync(bytes) : encoding === "br" ? brotliDecompressSync(bytes) : bytes).toString();
      };
      const answered = () => resolve({ status: incoming.statusCode ?? 0, type, body: method === "HEAD" ? "" : text() });
      incoming.on("data", (chunk: Buffer) => {
        chunks.push(chunk);
        if (!isStream) return;
        answered();
        outgoing.destroy();
      });
      incoming.once("end", answered);
      incoming.once("error", answered);
    });
    // A body that is refused before its end may break the connection under what is still being sent.
    outgoing.once("error", (error: NodeJS.ErrnoException) =>
      error.code === "EPIPE" || error.code === "ECONNRESET" ? resolve(null) : reject(error),
    );
    if (body === null) outgoing.end();
    else outgoing.end(body);
  });
}

const outside = ["provider_unavailable", "model_unavailable", "orchestration_error"];

/** What holds of every answer, whatever was asked. */
function expectDecent(api: DescribedApi, asked: ApiRequest, answer: Answer): void {
  const what = `${asked.method} ${asked.path} ${JSON.stringify(asked.headers)} ${String(asked.body).slice(0, 300)}`;
  expect(answer.body, what).not.toMatch(/\bat \S+ \(?(file|node|\/)|node_modules|\.ts:\d+|"reason":"internal"|"stack"/);
  expect([what, answer.status]).not.toEqual([what, 500]);
  if (answer.status >= 500) expect([what, outside.includes((JSON.parse(answer.body) as { code: string }).code)]).toEqual([what, true]);
  const fault = api.fault({ method: asked.method, path: asked.path, ...answer });
  expect([what, answer.status, fault]).toEqual([what, answer.status, null]);
}

/** Everything that works or waits is ended, so that what is left can be looked at. */
async function settle(env: TestEnvironment): Promise<void> {
  const open = () => env.tasks.list({ open: true });
  const active = () => env.threads.list().filter((thread) => thread.activeRunId !== null || thread.queue.length > 0);
  for (let round = 0; round < 50 && open().length + active().length > 0; round++) {
    for (const task of open()) await env.dispatch({ type: "task.cancel", taskId: task.id });
    for (const { id } of active()) await env.dispatch({ type: "thread.interrupt", threadId: id });
    const runs = active().flatMap(({ activeRunId }) => (activeRunId === null ? [] : [activeRunId]));
    await Promise.all(runs.map((id: RunId) => env.runs.wait(id, { timeoutMs: 5_000 })));
  }
  await until(() => active().length === 0 && open().length === 0, "everything ended");
}

test("whatever is asked of any route is answered as the document says, and the store holds nothing half", async () => {
  const { env, pool, port, errors } = await served();
  const api = new DescribedApi({ exact: true });
  const seen = new Map<string, Set<number>>();
  const ask = async (asked: ApiRequest) => {
    const answer = await send(port, asked);
    if (answer === null) return;
    expectDecent(api, asked, answer);
    const name = api.operationOf(asked.method, asked.path)?.operationId ?? "none";
    seen.set(name, (seen.get(name) ?? new Set()).add(answer.status));
  };
  // However slow this machine is, every route is met, most with something to answer, and commands on both sides of the rules.
  for (const asked of requestsForAll(api, pool, 6)) await ask({ ...asked, headers: { ...asked.headers, "x-caller": "user" } });
  expect(api.operations.map(([, , { operationId }]) => operationId).filter((name) => !seen.has(name))).toEqual([]);
  expect([...seen].filter(([, all]) => all.has(200)).length).toBeGreaterThan(20);
  expect([...(seen.get("sendCommand") ?? [])]).toEqual(expect.arrayContaining([200, 400]));
  await fc.assert(
    fc.asyncProperty(fc.array(apiRequests(api, pool), { minLength: 1, maxLength: 8 }), async (batch) => {
      await Promise.all(batch.map(ask));
      expect(errors).toEqual([]);
    }),
    { numRuns: 300, interruptAfterTimeLimit: 15_000, markInterruptAsFailure: false },
  );
  const alive = await send(port, { method: "GET", path: "/v1/environment", headers: { "x-caller": "user" }, body: null });
  expect(alive?.status).toBe(200);
  await settle(env);
  expectSound(env);
  const { dir } = env;
  await env.close();
  expectJournalsFold(dir);
}, 60_000);

/** Bytes that are no request, or only the beginning of one. */
const frames: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: "binary", maxLength: 300 }),
  fc.constantFrom(
    "GET /v1/threads HTTP/9.9\r\n\r\n",
    "GET /v1/threads HTTP/1.1\r\n\r\n",
    "POST /v1/commands HTTP/1.1\r\nhost: x\r\ncontent-length: -5\r\n\r\n",
    "POST /v1/commands HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    "POST /v1/commands HTTP/1.1\r\nhost: x\r\nx-caller: user\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
    'POST /v1/commands HTTP/1.1\r\nhost: x\r\nx-caller: user\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{"command":',
    `GET /v1/${"x".repeat(40_000)} HTTP/1.1\r\nhost: x\r\n\r\n`,
    `GET /v1/threads HTTP/1.1\r\nhost: x\r\n${"a: b\r\n".repeat(5_000)}\r\n`,
    "CONNECT /v1/threads HTTP/1.1\r\nhost: x\r\n\r\n",
    "GET /v1/feed?after=0 HTTP/1.1\r\nhost: x\r\nx-caller: user\r\n\r\n",
    "GET http://[::1/v1/threads HTTP/1.1\r\nhost: x\r\n\r\n",
    "GET //v1/threads HTTP/1.1\r\nhost: a b\r\n\r\n",
    "GET /v1/threads HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n",
  ),
);

test("what is no request, or is left in the middle, harms nobody: the next one is answered, and nothing was written", async () => {
  const { env, port, errors } = await served();
  const before = env.lastCommit;
  await fc.assert(
    fc.asyncProperty(fc.array(frames, { minLength: 1, maxLength: 6 }), async (texts) => {
      await Promise.all(
        texts.map(
          (text) =>
            new Promise<void>((resolve) => {
              const socket = connect(port, "127.0.0.1", () => socket.write(text, "latin1", () => setTimeout(() => socket.destroy(), 5)));
              socket.on("data", (data) => expect(String(data)).not.toMatch(/node_modules|\.ts:\d+/));
              socket.once("error", () => {});
              socket.once("close", () => resolve());
            }),
        ),
      );
      const next = await send(port, { method: "GET", path: "/v1/environment", headers: { "x-caller": "user" }, body: null });
      expect(next?.status).toBe(200);
    }),
    { numRuns: 100, interruptAfterTimeLimit: 10_000, markInterruptAsFailure: false },
  );
  expect(errors).toEqual([]);
  expect(env.lastCommit).toBe(before);
}, 60_000);
