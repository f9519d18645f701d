import { createInterface } from "node:readline";
import { duplexPair } from "node:stream";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import type { RunId } from "../../../schemas/ids.ts";
import { tools } from "../../../services/mcp/catalogue.ts";
import { serveMcpStream } from "../../../services/mcp/stream.ts";
import { type TestEnvironment, until } from "../../support/environments.ts";
import { inhabited } from "../../support/fuzzed.ts";
import { expectJournalsFold, expectSound } from "../../support/invariants.ts";
import { toolArguments } from "../../support/tool-arguments.ts";
import { clientCaller, type Loose, type Rig, startMcp } from "./rig.ts";

const script = {
  rules: [
    { match: { contains: "hang" }, steps: [{ hang: true }] },
    { match: { contains: "fail" }, steps: [{ fail: { message: "it failed" } }] },
  ],
};

/** What no answer of ours may hold: a fault of the inside, or a word of where it happened. */
function expectDecent(text: string): void {
  expect(text).not.toMatch(/"code":-32603|"reason":"internal"/);
  expect(text).not.toMatch(/\bat \S+ \(?(file|node|\/)|node_modules|\.ts:\d+/);
}

/** Ids of calls are large, so that no made-up message has one. */
let calls = 1_000_000;
const call = (id: number, name: string, args: unknown) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name, arguments: args, _meta: { progressToken: id } },
});

type Door = {
  /** Sends a message as text; what came back, all of it. With `cancelled` it takes the call back at once. */
  send(text: string, cancelled?: boolean): Promise<string>;
};

const initialize = {
  jsonrpc: "2.0",
  id: "first",
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "fuzz", version: "1" } },
};

const headersOf = (rig: Rig) => ({
  authorization: `Bearer ${rig.let(clientCaller())}`,
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
});

async function post(rig: Rig, headers: Record<string, string>, body: string, cancelled: boolean): Promise<string> {
  const controller = new AbortController();
  const answer = fetch(rig.url, { method: "POST", headers, body, signal: controller.signal });
  if (cancelled) setTimeout(() => controller.abort(), 2);
  try {
    const response = await answer;
    expect(response.status).toBeLessThan(500);
    return await response.text();
  } catch (error) {
    if (cancelled) return "";
    throw error;
  }
}

/** Over HTTP, in a session of a 2025 revision. */
async function sessionDoor(rig: Rig): Promise<Door> {
  const headers = headersOf(rig);
  const opened = await fetch(rig.url, { method: "POST", headers, body: JSON.stringify(initialize) });
  await opened.text();
  const session = { ...headers, "mcp-session-id": opened.headers.get("mcp-session-id") ?? "" };
  return { send: (body, cancelled = false) => post(rig, session, body, cancelled) };
}

/** Over HTTP, request by request, as the newest revision has it. */
function requestDoor(rig: Rig): Door {
  const own = headersOf(rig);
  const revision = "2026-07-28";
  const about = {
    "io.modelcontextprotocol/protocolVersion": revision,
    "io.modelcontextprotocol/clientInfo": { name: "fuzz", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  return {
    send(text, cancelled = false) {
      const message = parsed(text);
      const { params } = message;
      const isCall = message.method === "tools/call" && typeof params === "object" && params !== null;
      const body = isCall ? JSON.stringify({ ...message, params: { ...params, _meta: { ...params._meta, ...about } } }) : text;
      const plain = (value: unknown) => (typeof value === "string" && /^[\w/-]+$/.test(value) ? value : "tools/call");
      const headers = { ...own, "mcp-protocol-version": revision, "mcp-method": plain(message.method), "mcp-name": plain(params?.name) };
      return post(rig, headers, body, cancelled);
    },
  };
}

function parsed(text: string): Loose {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}

/** Over one stream of bytes, as `ropewalk mcp` carries it. */
function streamDoor(rig: Rig): Door {
  const [ours, theirs] = duplexPair();
  const access = { authenticate: () => clientCaller() };
  serveMcpStream(rig.env, access, theirs, new Request("http://localhost/mcp"), { onError: (error) => rig.errors.push(error) });
  onTestFinished(() => void ours.destroy());
  const answers = new Map<unknown, string>();
  createInterface(ours).on("line", (line) => {
    expectDecent(line);
    answers.set((JSON.parse(line) as { id?: unknown }).id, line);
  });
  const write = (message: unknown) => ours.write(`${typeof message === "string" ? message : JSON.stringify(message)}\n`);
  write(initialize);
  let pings = 0;
  return {
    async send(text, cancelled = false) {
      write(text.replaceAll("\n", " "));
      const id = Number(/^\{"jsonrpc":"2.0","id":(\d{7}),/.exec(text)?.[1] ?? Number.NaN);
      if (cancelled) write({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } });
      // A ping behind it: the stream lives, and has taken what came before.
      const ping = `ping-${pings++}`;
      write({ jsonrpc: "2.0", id: ping, method: "ping" });
      await until(() => answers.has(ping), `an answer to ${ping} after ${text.slice(0, 200)}`);
      if (cancelled || Number.isNaN(id)) return "";
      return until(() => answers.get(id), `an answer to ${text.slice(0, 200)}`);
    },
  };
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

/** Who names no time waits for the usual one, which is too long here. */
function waitingBriefly(name: string, args: unknown): unknown {
  const isWait = name === "t3_thread_wait" && typeof args === "object" && args !== null && !Array.isArray(args);
  return isWait && !("waitSeconds" in args) ? { ...args, waitSeconds: 0 } : args;
}

test("whatever a tool is called with, over every door, it answers in its own words, and the store holds nothing half", async () => {
  const rig = await startMcp({ scripts: { p1: script, p2: null } });
  const pool = await inhabited(rig.env);
  const doors = [await sessionDoor(rig), requestDoor(rig), streamDoor(rig)];
  const one = fc
    .constantFrom(...tools)
    .chain((tool) =>
      fc.record({ name: fc.constant(tool.name), args: toolArguments(tool.input, pool), door: fc.nat(2), cancelled: fc.nat(9) }),
    );
  const seen = doors.map(() => ({ allowed: 0, refused: 0 }));
  await fc.assert(
    fc.asyncProperty(fc.array(one, { minLength: 1, maxLength: 8 }), async (batch) => {
      const answers = await Promise.all(
        batch.map(({ name, args, door, cancelled }) =>
          doors[door]!.send(JSON.stringify(call(calls++, name, waitingBriefly(name, args))), cancelled === 0),
        ),
      );
      for (const [place, answer] of answers.entries()) {
        expectDecent(answer);
        const at = seen[batch[place]!.door]!;
        if (answer.includes('"isError":true')) at.refused += 1;
        else if (answer.includes('"structuredContent"')) at.allowed += 1;
      }
      expect(rig.errors).toEqual([]);
    }),
    { numRuns: 250, interruptAfterTimeLimit: 20_000, markInterruptAsFailure: false },
  );
  // Both sides of the rules were met at every door, each often.
  for (const { allowed, refused } of seen) expect(Math.min(allowed, refused)).toBeGreaterThan(20);
  await settle(rig.env);
  expectSound(rig.env);
  const { dir } = rig.env;
  await rig.env.close();
  expectJournalsFold(dir);
}, 60_000);

/** Frames that are no call of a tool: broken, empty, of another shape, in batches, or of methods that are not there. */
const frames: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: "binary", maxLength: 200 }),
  fc.jsonValue({ maxDepth: 4 }).map((value) => JSON.stringify(value)),
  fc
    .record(
      {
        jsonrpc: fc.constantFrom<unknown>("2.0", "1.0", 2, null),
        id: fc.constantFrom<unknown>(7, "seven", null, -0.5, [], {}, "x".repeat(5_000), Number.MAX_SAFE_INTEGER),
        method: fc.constantFrom<unknown>(
          "tools/call",
          "tools/list",
          "resources/read",
          "resources/list",
          "resources/subscribe",
          "initialize",
          "notifications/cancelled",
          "notifications/initialized",
          "subscriptions/listen",
          "server/discover",
          "completion/complete",
          "__proto__",
          "",
          5,
        ),
        params: fc.oneof(
          fc.jsonValue({ maxDepth: 3 }),
          fc.record({
            uri: fc.oneof(fc.webUrl(), fc.string({ maxLength: 40 }), fc.constantFrom("ropewalk://thread/%", "ropewalk://task/x/result")),
          }),
          fc.record({ cursor: fc.base64String({ maxLength: 40 }) }),
          fc.record({ name: fc.string({ maxLength: 20 }), arguments: fc.jsonValue({ maxDepth: 2 }) }),
          fc.record({ requestId: fc.nat(10) }),
        ),
        result: fc.jsonValue({ maxDepth: 1 }),
      },
      { requiredKeys: [] },
    )
    .chain((one) =>
      fc.constantFrom(JSON.stringify(one), JSON.stringify([one, one]), JSON.stringify([[one]]), JSON.stringify(one).slice(0, -2)),
    ),
  fc.constantFrom(
    "[".repeat(200_000),
    `{"a":`.repeat(50_000),
    "[]",
    "{}",
    "null",
    '{"jsonrpc":"2.0","id":7,"method":"resources/read"}',
    '{"jsonrpc":"2.0","id":1,"method":"ping","id":2}',
  ),
);

test("whatever is sent in place of a call, over every door, is refused in the protocol's words, and the next call is answered", async () => {
  const rig = await startMcp();
  const doors = [await sessionDoor(rig), requestDoor(rig), streamDoor(rig)];
  const before = rig.env.lastCommit;
  await fc.assert(
    fc.asyncProperty(fc.array(frames, { minLength: 1, maxLength: 5 }), fc.nat(2), async (texts, door) => {
      for (const answer of await Promise.all(texts.map((text) => doors[door]!.send(text)))) expectDecent(answer);
      expectDecent(await doors[door]!.send(JSON.stringify(call(calls++, "t3_thread_list", {}))));
    }),
    { numRuns: 150, interruptAfterTimeLimit: 20_000, markInterruptAsFailure: false },
  );
  expect(rig.env.lastCommit).toBe(before);
  expect(rig.errors).toEqual([]);
}, 60_000);
