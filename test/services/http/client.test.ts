import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import type { CommandId, RunId } from "../../../schemas/ids.ts";
import { EnvironmentRefused, EnvironmentUnreachable } from "../../../services/http/client/failures.ts";
import { findSocket } from "../../../services/http/client/find-socket.ts";
import { connectLocal } from "../../../services/http/client.ts";
import { maxSocketPathBytes, socketPlace } from "../../../services/http/socket-path.ts";
import { serveEnvironment } from "../../../services/serving.ts";
import { atEnd, home } from "./rig.ts";

const root = mkdtempSync(join(tmpdir(), "ropewalk-client-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
const folder = (name: string) => {
  const dir = join(root, name);
  mkdirSync(dir, { recursive: true });
  return dir;
};

/** A process that listens as an environment does, and answers as it is told. */
async function listening(dir: string, answer: (socket: import("node:net").Socket) => void): Promise<Server> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(join(dir, "ropewalk.sock"), resolve));
  atEnd(async () => void server.close());
  return server;
}

test("nobody listens, a dead socket, something else in its place: each is told as unreachable, at once", async () => {
  const empty = folder("empty");
  const other = folder("other");
  writeFileSync(join(other, "ropewalk.sock"), "no socket");
  for (const dir of [join(root, "nowhere"), empty, other]) {
    const client = connectLocal(dir);
    await expect(client.environment()).rejects.toThrow(EnvironmentUnreachable);
    await expect(client.environment()).rejects.toThrow(`no environment is running on ${dir}`);
    client.close();
  }
});

test("one that takes the connection and never answers is given up after the time that was set", async () => {
  const dir = folder("mute");
  await listening(dir, () => {});
  const client = connectLocal(dir);
  await expect(client.environment(100)).rejects.toThrow(/no answer within 0.1 s/);
  client.close();
});

test("a connection that breaks before the answer is tried once more, and then told", async () => {
  const dir = folder("broken");
  let connections = 0;
  await listening(dir, (socket) => {
    connections += 1;
    socket.once("data", () => socket.destroy());
  });
  const client = connectLocal(dir);
  await expect(client.environment()).rejects.toThrow(/stopped answering/);
  expect(connections).toBe(2);
  client.close();
});

test("an answer that is no JSON is told with its beginning", async () => {
  const dir = folder("strange");
  await listening(dir, (socket) => void socket.once("data", () => socket.end("HTTP/1.1 502 Bad\r\ncontent-length: 5\r\n\r\nhello")));
  const client = connectLocal(dir);
  await expect(client.environment()).rejects.toThrow(/status 502: hello/);
  client.close();
});

test("a refusal is thrown as what it is, also one of a body that is not read to its end", async () => {
  const at = await home();
  const server = await serveEnvironment(at.environment, { maxBodyBytes: 1_000_000 });
  const client = connectLocal(at.environment.dir);
  atEnd(async () => {
    client.close();
    await server.close();
  });
  const { threadId } = (await client.command({ type: "thread.create" }, "cmd:1" as CommandId)).result;
  await expect(client.run("run:01a22d31-9dc2-7749-a2be-000000000000" as RunId)).rejects.toThrow(EnvironmentRefused);
  const text = "x".repeat(30_000_000);
  const refused = await client.command({ type: "thread.send", threadId, text }, "cmd:2" as CommandId).catch((error) => error);
  expect(refused.refusal).toMatchObject({ code: "invalid_request", reason: "too_large" });
  expect((await client.thread(threadId)).thread.lastOrdinal).toBe(0);
});

test("the socket is the user's alone, and in the folder unless that path is too long", () => {
  const short = folder("short");
  expect(socketPlace(short, {})).toEqual({ path: join(short, "ropewalk.sock"), link: null, makeFolder: null });
  const long = folder("l".repeat(maxSocketPathBytes));
  const runtime = folder("run");
  const placed = socketPlace(long, { XDG_RUNTIME_DIR: runtime });
  expect(placed).toEqual({
    path: expect.stringMatching(new RegExp(`^${runtime}/ropewalk-[0-9a-f]{16}\\.sock$`)),
    link: join(long, "ropewalk.sock"),
    makeFolder: null,
  });
  for (const XDG_RUNTIME_DIR of [undefined, "", "relative", "/no/such/folder", "/etc/hostname"]) {
    const fallback = socketPlace(long, { XDG_RUNTIME_DIR });
    expect(Buffer.byteLength(fallback.path)).toBeLessThanOrEqual(maxSocketPathBytes);
    expect(fallback.makeFolder).not.toBeNull();
  }
  expect(findSocket(short)).toBeNull();
});

test("the served socket can be reached by its owner only", async () => {
  const at = await home();
  const server = await serveEnvironment(at.environment);
  expect(statSync(server.socket).mode & 0o777).toBe(0o600);
  expect(findSocket(at.environment.dir)).toBe(server.socket);
  await server.close();
  expect(findSocket(at.environment.dir)).toBeNull();
});
