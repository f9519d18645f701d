import { beforeAll, describe, expect, test } from "vitest";
import type { AccessKind } from "../../../schemas/access.ts";
import type { Caller } from "../../../schemas/command.ts";
import { ClientId, type ThreadId } from "../../../schemas/ids.ts";
import { broadestModes, type Modes } from "../../../schemas/modes.ts";
import type { HttpAppOptions } from "../../../services/http/app.ts";
import { createHttpApp, routesOf } from "../../../services/http/app.ts";
import { type Home, home } from "./rig.ts";

let at: Home;
let threadId: ThreadId;
beforeAll(async () => {
  at = await home();
  threadId = await at.thread("hello");
});

const client = (access: AccessKind[], maxModes: Modes = broadestModes): Caller => ({
  kind: "client",
  clientId: ClientId.parse("client:test"),
  maxModes,
  access,
});
const appFor = (caller: Caller | null, more: HttpAppOptions = {}) =>
  createHttpApp(at.environment, { callerOf: async () => caller, ...more });

/** A request that every route takes as far as its access, with ids of the right form. */
function requestOf(path: string): string {
  const id: Record<string, string> = { noun: "thread", kind: "thread", digest: "0".repeat(64), part: "content", code: "invalid_request" };
  const owners: [RegExp, string][] = [
    [/^\/threads/, "thread"],
    [/^\/items/, "item"],
    [/^\/runs/, "run"],
    [/^\/transfers/, "transfer"],
    [/^\/handoffs/, "handoff"],
    [/^\/tasks/, "task"],
    [/^\/links/, "link"],
    [/^\/requests/, "req"],
    [/^\/projects/, "project"],
  ];
  const noun = owners.find(([pattern]) => pattern.test(path))?.[1];
  const wait = path.endsWith("/wait") ? "?timeoutMs=1" : "";
  return path.replaceAll(/:(\w+)/g, (_, name: string) => id[name] ?? `${noun}:01a22d31-9dc2-7749-a2be-000000000000`) + wait;
}

async function ask(app: ReturnType<typeof createHttpApp>, method: string, path: string, body?: unknown) {
  const response = await app.request(`/v1${path}`, {
    method,
    ...(body !== undefined && { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
  });
  // biome-ignore lint/suspicious/noExplicitAny: what routes answer is what the tests look at
  return { status: response.status, headers: response.headers, body: (await response.json()) as any };
}

describe("whoever is not vouched for", () => {
  test("is answered 401 by every route but the API's own description, with where to go", async () => {
    const app = appFor(null, { shutdown: () => {}, challenge: () => 'resource_metadata="http://localhost/x"' });
    for (const { method, path, access } of routesOf(at.environment, { shutdown: () => {} })) {
      const { status, headers, body } = await ask(app, method, requestOf(path));
      if (access === "nothing") expect([path, status]).toEqual([path, 200]);
      else {
        expect([path, status, body.reason]).toEqual([path, 401, "unknown_caller"]);
        expect(headers.get("www-authenticate")).toBe('Bearer realm="ropewalk", resource_metadata="http://localhost/x"');
      }
    }
  });
});

describe("a client", () => {
  test("without the access of a route is answered 403 by it; with it, it is not", async () => {
    for (const { method, path, access } of routesOf(at.environment, {})) {
      if (access === "nothing" || access === "by_command" || path === "/feed") continue;
      const without = await ask(appFor(client(["writes"])), method, requestOf(path));
      expect([path, without.status, without.body.code, without.body.details.needs]).toEqual([path, 403, "capability_denied", access]);
      const { status } = await ask(appFor(client([access])), method, requestOf(path));
      expect([path, [200, 400, 404].includes(status)]).toEqual([path, true]);
    }
  });

  test("sends commands that its access is for, up to its modes, and no others", async () => {
    const reader = appFor(client(["reads"]));
    const narrow = appFor(client(["reads", "starts_threads"], { runtimeMode: "approval-required", interactionMode: "plan" }));
    const create = (id: string, more = {}) => ({ id: `cmd:${id}`, command: { type: "thread.create", ...more } });
    expect(await ask(reader, "POST", "/commands", create("c1"))).toMatchObject({
      status: 403,
      body: { code: "capability_denied", reason: "access_not_given", commandId: "cmd:c1", repeated: false },
    });
    expect(await ask(narrow, "POST", "/commands", create("c2", { runtimeMode: "full-access" }))).toMatchObject({
      status: 403,
      body: { code: "runtime_mode_escalation_denied" },
    });
    const made = await ask(narrow, "POST", "/commands", create("c3"));
    expect(made).toMatchObject({ status: 200, body: { ok: true } });
    expect(at.environment.threads.get(made.body.result.threadId)?.modes).toEqual({
      runtimeMode: "approval-required",
      interactionMode: "plan",
    });
    expect(
      await ask(narrow, "POST", "/commands", { id: "cmd:c4", command: { type: "project.add", path: at.environment.dir } }),
    ).toMatchObject({
      status: 403,
      body: { details: { needs: "writes_environment" } },
    });
  });

  test("cannot end the environment, unless it was let in for that too", async () => {
    let ended = 0;
    const shutdown = () => {
      ended += 1;
    };
    expect(await ask(appFor(client(["reads", "writes"]), { shutdown }), "POST", "/shutdown")).toMatchObject({ status: 403 });
    expect(await ask(appFor(client(["writes_environment"])), "POST", "/shutdown")).toMatchObject({ status: 404 });
    await new Promise((resolve) => setImmediate(resolve));
    expect(ended).toBe(0);
  });
});

describe("an agent by its thread's token", () => {
  const agent = (id: ThreadId): Caller => ({ kind: "thread", threadId: id, runId: null });

  test("reads what is here and sends commands as itself", async () => {
    const app = appFor(agent(threadId));
    expect(await ask(app, "GET", `/threads/${threadId}`)).toMatchObject({ status: 200 });
    const made = await ask(app, "POST", "/commands", { id: "cmd:a1", command: { type: "thread.create", title: "by the agent" } });
    expect(at.environment.threads.get(made.body.result.threadId)).toMatchObject({ createdBy: "agent" });
  });

  test("that a link started and that may not read here is refused every read", async () => {
    const stamped = new Proxy(at.environment, {
      get(target, name) {
        const threads = Object.create(target.threads, {
          get: { value: (id: ThreadId) => ({ ...target.threads.get(id), linkOrigin: { environmentId: "env:x", linkId: "link:x" } }) },
        });
        return name === "threads" ? threads : Reflect.get(target, name, target);
      },
    });
    const app = createHttpApp(stamped, { callerOf: () => agent(threadId) });
    for (const { method, path, access } of routesOf(at.environment, {}))
      if (access === "reads")
        expect(await ask(app, method, requestOf(path)), path).toMatchObject({ status: 403, body: { reason: "not_for_links" } });
  });
});

test("a method that a path does not take is answered 405 with those that it does", async () => {
  const app = createHttpApp(at.environment);
  const { status, headers, body } = await ask(app, "DELETE", `/threads/${threadId}`);
  expect([status, headers.get("allow"), body.reason]).toEqual([405, "GET, HEAD", "wrong_method"]);
  expect((await app.request("/v1/commands")).headers.get("allow")).toBe("POST");
  expect((await app.request(`/v1/threads/${threadId}`, { method: "HEAD" })).status).toBe(200);
});

test("asking for the head of a feed leaves nobody behind who listens", async () => {
  let listening = 0;
  const counted = new Proxy(at.environment, {
    get(target, name) {
      if (name !== "subscribe") return Reflect.get(target, name, target);
      return (listener: Parameters<typeof target.subscribe>[0]) => {
        listening += 1;
        const stop = target.subscribe(listener);
        return () => {
          listening -= 1;
          stop();
        };
      };
    },
  });
  const app = createHttpApp(counted);
  const response = await app.request("/v1/feed?after=0", { method: "HEAD" });
  expect([response.status, response.headers.get("content-type"), listening]).toEqual([200, "application/x-ndjson", 0]);
});

test("what is not JSON, or comes compressed, is answered 415, and a parameter twice is refused", async () => {
  const app = createHttpApp(at.environment);
  for (const headers of [{ "content-type": "text/plain" }, { "content-type": "application/json", "content-encoding": "gzip" }]) {
    const response = await app.request("/v1/commands", {
      method: "POST",
      body: "{}",
      headers: new Headers(headers as Record<string, string>),
    });
    expect([response.status, ((await response.json()) as { reason: string }).reason]).toEqual([415, "wrong_media_type"]);
  }
  expect(await ask(app, "GET", "/threads?limit=1&limit=2")).toMatchObject({ status: 400, body: { reason: "malformed" } });
});

test("a fault of ours answers with an id that is in the log, and with nothing of the fault", async () => {
  const seen: Error[] = [];
  const broken = new Proxy(at.environment, {
    get(target, name) {
      if (name === "health")
        return () => {
          throw new Error("secret");
        };
      if (name === "dispatchText")
        return async () => ({
          ok: false,
          commandId: "cmd:x",
          repeated: false,
          refusal: {
            code: "orchestration_error",
            reason: "internal",
            message: "secret",
            hint: "",
            details: { stack: "Error: secret\n    at here" },
          },
        });
      return Reflect.get(target, name, target);
    },
  });
  const app = createHttpApp(broken, { onError: (error) => seen.push(error) });
  for (const [method, path, body] of [
    ["GET", "/health", undefined],
    ["POST", "/commands", {}],
  ] as const) {
    const answer = await ask(app, method, path, body);
    expect(answer).toMatchObject({ status: 500, body: { reason: "internal", details: { incident: expect.stringMatching(/^incident:/) } } });
    expect(JSON.stringify(answer.body)).not.toMatch(/secret|stack|\bat \w/);
    expect(seen.at(-1)?.stack).toContain(answer.body.details.incident);
    expect(seen.at(-1)?.message).toContain("secret");
  }
});
