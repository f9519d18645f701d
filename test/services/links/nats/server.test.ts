import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { NatsServerFailed, startNatsServer } from "../../../../services/links/nats/server.ts";
import { findNatsServer } from "../../../../services/links/nats/server-binary.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "ropewalk-server-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

async function binary(): Promise<string> {
  const found = await findNatsServer();
  if (found === null) throw new Error("these tests need a nats-server: npm run pretest");
  return found.bin;
}

const answers = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("data", () => resolve(true));
    socket.once("error", () => resolve(false));
    setTimeout(() => resolve(false), 2_000).unref();
    socket.once("close", () => resolve(false));
    socket.unref();
  });

test("a server is ready when it has started, keeps its store in its folder, and is gone when it was stopped", async () => {
  const bin = await binary();
  const first = await startNatsServer({ bin, dir });
  expect(first.url).toBe(`nats://127.0.0.1:${first.port}`);
  expect(await answers(first.port)).toBe(true);
  expect(existsSync(join(dir, "store"))).toBe(true);
  await first.stop();
  expect(await answers(first.port)).toBe(false);
  await first.stop();
});

test("two servers get ports of their own, and a port that was named is used again", async () => {
  const bin = await binary();
  const [one, two] = await Promise.all([startNatsServer({ bin, dir: join(dir, "1") }), startNatsServer({ bin, dir: join(dir, "2") })]);
  expect(one.port).not.toBe(two.port);
  await one.stop("SIGKILL");
  const again = await startNatsServer({ bin, dir: join(dir, "1"), port: one.port });
  expect(again.port).toBe(one.port);
  await Promise.all([again.stop(), two.stop()]);
});

test("a server that cannot start says why", async () => {
  const bin = await binary();
  await expect(startNatsServer({ bin: join(dir, "nothing"), dir })).rejects.toThrow(NatsServerFailed);
  const running = await startNatsServer({ bin, dir: join(dir, "1") });
  await expect(startNatsServer({ bin, dir: join(dir, "2"), port: running.port })).rejects.toThrow(/address already in use/);
  await running.stop();
  writeFileSync(join(dir, "store"), "a file where its folder should be");
  await expect(startNatsServer({ bin, dir })).rejects.toThrow(NatsServerFailed);
});
