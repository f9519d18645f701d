import type { Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { Worker } from "node:worker_threads";
import { createAdaptorServer } from "@hono/node-server";
import { beforeAll, describe, expect, test } from "vitest";
import type { Caller } from "../../../schemas/command.ts";
import { ClientId, type CommandId, type ThreadId } from "../../../schemas/ids.ts";
import { broadestModes } from "../../../schemas/modes.ts";
import { createHttpApp } from "../../../services/http/app.ts";
import { EnvironmentRefused, EnvironmentUnreachable } from "../../../services/http/client/failures.ts";
import type { FeedLine } from "../../../services/http/client/feed-line.ts";
import { connect, connectLocal } from "../../../services/http/client.ts";
import { serveEnvironment } from "../../../services/serving.ts";
import { until } from "../../support/until.ts";
import { atEnd, type Home, home } from "./rig.ts";

const token = "the-token";
const caller: Caller = {
  kind: "client",
  clientId: ClientId.parse("client:test"),
  maxModes: broadestModes,
  access: ["reads", "writes", "writes_threads", "starts_threads"],
};

let at: Home;
let url: string;
const sockets = new Set<Socket>();
beforeAll(async () => {
  at = await home();
  const app = createHttpApp(at.environment, {
    callerOf: (request) => (request.headers.get("authorization") === `Bearer ${token}` ? caller : null),
    heartbeatMs: 50,
  });
  const server = createAdaptorServer({ fetch: app.fetch }) as Server;
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  atEnd(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
});

describe("a client at an address", () => {
  test("is answered what one on the socket is, whatever it asks", async () => {
    const threadId = await at.thread("hello", "again");
    const local = await serveEnvironment(at.environment, { http: null });
    const [near, far] = [connectLocal(at.environment.dir), connect(`${url}/v1/`, { token: async () => token })];
    atEnd(async () => {
      near.close();
      far.close();
      await local.close();
    });
    const run = (await near.threadRuns(threadId)).runs[0]!;
    for (const ask of [
      (client: typeof far) => client.environment(),
      (client: typeof far) => client.threads(),
      (client: typeof far) => client.thread(threadId),
      (client: typeof far) => client.items(threadId, { limit: 3, newestFirst: true }),
      (client: typeof far) => client.snapshot(threadId),
      (client: typeof far) => client.run(run.id),
      (client: typeof far) => client.waitForRun(run.id, { timeoutMs: 1_000 }),
      (client: typeof far) => client.item(run.messageItemId),
      (client: typeof far) => client.itemText(run.messageItemId, "content"),
      (client: typeof far) => client.chart("transfer"),
      (client: typeof far) => client.resolve("thread", { ref: "@last" }),
    ])
      expect(await ask(far)).toEqual(await ask(near));
    await expect(near.itemText(run.messageItemId, "diff")).rejects.toThrow(EnvironmentRefused);
  });

  test("sends commands once, also when it says them twice, and is told a refusal as what it is", async () => {
    const client = connect(url, { token });
    const id = "cmd:twice" as CommandId;
    const first = await client.command({ type: "thread.create", title: "far" }, id);
    expect(await client.command({ type: "thread.create", title: "far" }, id)).toEqual({ ...first, repeated: true });
    const [one, other] = [await client.command({ type: "thread.create" }), await client.command({ type: "thread.create" })];
    expect(one.result.threadId).not.toBe(other.result.threadId);
    const refused = await client.command({ type: "project.add", path: "/" }).catch((error) => error);
    expect(refused).toBeInstanceOf(EnvironmentRefused);
    expect(refused.refusal).toMatchObject({ code: "capability_denied", details: { needs: "writes_environment" } });
    const unknown = await connect(url, { token: "another" })
      .threads()
      .catch((error) => error);
    expect(unknown.refusal).toMatchObject({ code: "capability_denied", reason: "unknown_caller" });
    client.close();
  });

  test("is told every change once and in order, though its connection breaks again and again", async () => {
    const client = connect(url, { token });
    const after = at.environment.lastCommit;
    const threadId = await at.thread();
    const stop = new AbortController();
    const told: number[] = [];
    const following = (async () => {
      for await (const line of client.feed({ after, signal: stop.signal, patienceMs: 20_000 }))
        if (line.type === "commit") told.push(line.commit);
    })();
    for (let round = 0; round < 6; round += 1) {
      await at.send({ type: "thread.rename", threadId, title: `round ${round}` });
      await until("it is told", () => told.includes(at.environment.lastCommit));
      for (const socket of sockets) socket.destroy();
    }
    stop.abort();
    await following;
    expect(told).toEqual([...new Set(told)]);
    const committed = new Set(at.environment.changes(after, 10_000).map((change) => change.commit));
    expect(told).toEqual([...committed].sort((a, b) => a - b));
  });

  test("that nobody answers is told so, with the address; one that is closed asks nothing more", async () => {
    const nobody = connect("http://127.0.0.1:9");
    const failure = await nobody.health().catch((error) => error);
    expect(failure).toBeInstanceOf(EnvironmentUnreachable);
    expect(failure.where).toBe("http://127.0.0.1:9");
    const client = connect(url, { token });
    client.close();
    await expect(client.health()).rejects.toThrow();
  });

  test("a listing goes on where it ended, and is whole in as many pages as it takes", async () => {
    const client = connect(url, { token });
    const threadId = await at.thread("1", "2", "3", "4");
    const whole = (await client.items(threadId)).items.map((item) => item.id);
    const parts: string[] = [];
    let cursor: string | null | undefined;
    do {
      const page = await client.items(threadId, { limit: 3, ...(cursor != null && { cursor }) });
      parts.push(...page.items.map((item) => item.id));
      cursor = page.next;
    } while (cursor !== null);
    expect(parts).toEqual(whole);
    expect(whole).toHaveLength(8);
  });

  test("takes an application of this process for its network", async () => {
    const app = createHttpApp(at.environment);
    const client = connect("http://here", { fetch: (request) => app.request(request) });
    expect((await client.environment()).environment.id).toBe(at.environment.id);
    const lines: FeedLine["type"][] = [];
    for await (const line of client.feed({ after: at.environment.lastCommit })) {
      lines.push(line.type);
      break;
    }
    expect(lines).toEqual(["synchronized"]);
  });
});

test("where there is no Node, a client at an address works all the same, and loads nothing but itself", async () => {
  const door = new URL("../../../services/http/client/index.ts", import.meta.url).href;
  // `fetch` of Node itself needs more of its globals.
  const program = `
    const { parentPort, workerData } = require("node:worker_threads");
    const loaded = [];
    const after = (specifier, context, next) => { const found = next(specifier, context); loaded.push(found.url); return found; };
    require("node:module").registerHooks({ resolve: after });
    Object.defineProperty(globalThis, "process", { value: undefined });
    import(workerData.door)
      .then(({ connect }) => connect(workerData.url, { token: workerData.token }).command({ type: "thread.create", title: "from a browser" }))
      .then(({ result }) => parentPort.postMessage({ result, loaded }), (error) => parentPort.postMessage(String(error.stack)));`;
  const worker = new Worker(program, { eval: true, workerData: { door, url, token }, execArgv: [] });
  type Told = { result: { threadId: ThreadId }; loaded: string[] } | string;
  const told = await new Promise<Told>((resolve, reject) => worker.once("message", resolve).once("error", reject));
  await worker.terminate();
  if (typeof told === "string") throw new Error(told);
  expect(at.environment.threads.get(told.result.threadId)?.title).toBe("from a browser");
  expect(told.loaded.filter((file) => !/\/services\/http\/client(\.ts|\/[\w-]+\.ts)$/.test(file))).toEqual([]);
  expect(told.loaded.length).toBeGreaterThan(4);
});
