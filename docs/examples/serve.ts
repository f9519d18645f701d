/**
 * The API inside a web application of one's own, which says by its own means who calls; and a program that drives it by the
 * typed client, from anywhere. Run by the test suite, so it cannot go stale.
 */
import { mkdtemp, rm } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { type Caller, createEnvironment, createHttpApp, type Environment } from "../../index.ts";
import { connect, EnvironmentRefused } from "../../services/http/client/index.ts";
import { echo } from "./echo.ts";

/** An application with the API below `/agents`. Its own sign-in is a fixed word here. */
function application(environment: Environment): Hono {
  const api = createHttpApp(environment, {
    callerOf: (request) => (request.headers.get("authorization") === "Bearer let-me-in" ? colleague : null),
    onError: (error) => console.error(error),
  });
  const app = new Hono();
  app.get("/", (c) => c.text("my application"));
  app.mount("/agents", api.fetch);
  return app;
}

/** What its users may do: all but change the environment itself, with modes up to these. */
const colleague = {
  kind: "client",
  clientId: "client:my-application",
  maxModes: { runtimeMode: "auto-accept-edits", interactionMode: "default" },
  access: ["reads", "writes", "writes_threads", "starts_threads"],
} as Caller;

/** A program at the other end: a message, its answer as it comes, and a refusal. */
async function program(url: string, say: (line: string) => void): Promise<void> {
  const client = connect(url, { token: "let-me-in" });
  const { result, commit } = await client.command({ type: "thread.launch", text: "Hello from afar", title: "Afar" });
  for await (const line of client.feed({ after: commit, thread: result.threadId })) {
    if (line.type !== "commit") continue;
    for (const change of line.changes) {
      if (change.type === "item" && change.item.body.kind === "assistant_message") say("an answer came in");
      if (change.type === "actor" && change.actorId === result.runId) say(`the run is ${change.to}`);
    }
    if ((await client.run(result.runId)).run.endedAt !== null) break;
  }
  const { items } = await client.items(result.threadId, { newestFirst: true, limit: 1 });
  say(items[0] === undefined ? "nothing" : await client.itemText(items[0].id, "content"));
  try {
    await client.command({ type: "thread.set_modes", threadId: result.threadId, runtimeMode: "full-access" });
  } catch (error) {
    if (error instanceof EnvironmentRefused) say(`refused: ${error.refusal.code}`);
    else throw error;
  }
  client.close();
}

export async function main(say: (line: string) => void = console.log): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), "ropewalk-serve-"));
  const environment = await createEnvironment({ dir, adapters: { echo: echo() }, config: { defaultProvider: "echo", providers: {} } });
  const server = serve({ fetch: application(environment).fetch, hostname: "127.0.0.1", port: 0 });
  try {
    await new Promise((resolve) => server.once("listening", resolve));
    const { port } = server.address() as AddressInfo;
    await program(`http://127.0.0.1:${port}/agents`, say);
  } finally {
    await new Promise((resolve) => server.close(resolve));
    await environment.close();
    await rm(dir, { recursive: true, force: true });
  }
}

if (import.meta.main) await main();
