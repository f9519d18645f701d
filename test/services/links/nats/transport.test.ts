import { randomUUID } from "node:crypto";
import { jetstreamManager, RetentionPolicy } from "@nats-io/jetstream";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { durableName, streamOf, subjectOf } from "../../../../services/links/nats/names.ts";
import { createNatsTransport } from "../../../../services/links/nats/transport.ts";
import type { LinkChannel, LinkTransport, TransportState } from "../../../../services/runtime/ports/link-transport.ts";
import { TestNats } from "../../../support/nats.ts";
import { until } from "../../../support/until.ts";

let nats: TestNats;
let admin: NatsConnection;
const open: LinkTransport[] = [];
beforeAll(async () => {
  nats = await TestNats.start();
  admin = await connect({ servers: nats.url });
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((transport) => transport.close()));
});
afterAll(async () => {
  await admin.close();
  await nats.end();
});

const channel = (): LinkChannel => ({ linkId: `link:${randomUUID()}`, to: `env:${randomUUID()}`, from: `env:${randomUUID()}` });

async function connected() {
  const transport = createNatsTransport({ url: nats.url, name: "test" });
  open.push(transport);
  const states: TransportState[] = [];
  const renewed: LinkChannel[] = [];
  transport.start({ onState: (state) => states.push(state), onRenewed: (which) => renewed.push(which) });
  await until("it is connected", () => states.at(-1)?.state === "connected");
  return { transport, states, renewed };
}

test("names are made of the ids, and nothing else can become part of a subject", () => {
  const here = { linkId: "link:0190-a", to: "env:0190-b", from: "env:0190-c" };
  expect(subjectOf(here)).toBe("ropewalk.v1.link.link-0190-a.env-0190-b.env-0190-c");
  expect(streamOf(here)).toBe("ropewalk_v1_link-0190-a_env-0190-b");
  for (const bad of ["a.b", "a b", "*", ">", "", "a:b:c", "a".repeat(100)]) expect(() => subjectOf({ ...here, to: bad })).toThrow();
});

test("a stream is bounded, on disk, and refuses what is beyond its bound instead of dropping what is in it", async () => {
  const here = channel();
  const { transport } = await connected();
  await transport.publish(here, Buffer.from("x"));
  const { config } = await (await jetstreamManager(admin)).streams.info(streamOf(here));
  expect(config).toMatchObject({
    subjects: [subjectOf(here)],
    retention: "limits",
    storage: "file",
    discard: "new",
    max_bytes: 64 * 1024 * 1024,
    max_age: 0,
  });
});

test("a stream that somebody deletes is made again, and the loss is said", async () => {
  const here = channel();
  const { transport, renewed } = await connected();
  const got: string[] = [];
  await transport.consume(here, async (batch) => void got.push(...batch.map((bytes) => Buffer.from(bytes).toString())));
  await transport.publish(here, Buffer.from("before"));
  await until("it is there", () => got.length === 1);
  await (await jetstreamManager(admin)).streams.delete(streamOf(here));
  await transport.publish(here, Buffer.from("after")).catch(() => transport.publish(here, Buffer.from("after")));
  expect(renewed).toEqual([here]);
  await until("the consumer is back", () => got.includes("after"));
});

test("a consumer that somebody deletes is made again, without a loss", async () => {
  const here = channel();
  const { transport, renewed } = await connected();
  const got: string[] = [];
  await transport.consume(here, async (batch) => void got.push(...batch.map((bytes) => Buffer.from(bytes).toString())));
  await transport.publish(here, Buffer.from("before"));
  await until("it is there", () => got.length === 1);
  // An old server can fail half way through a deletion; what matters is that the consumer is gone or was tried to be.
  await (await jetstreamManager(admin)).consumers.delete(streamOf(here), durableName).catch(() => {});
  await transport.publish(here, Buffer.from("after"));
  await until("the consumer is back", () => got.includes("after"));
  expect(renewed).toEqual([]);
});

test("a stream of that name with another purpose is left alone, and the failure says so", async () => {
  const here = channel();
  const { transport } = await connected();
  const jsm = await jetstreamManager(admin);
  await jsm.streams.add({ name: streamOf(here), subjects: [subjectOf(here)], retention: RetentionPolicy.Workqueue });
  await expect(transport.publish(here, Buffer.from("x"))).rejects.toThrow(/limits retention/);
  expect((await jsm.streams.info(streamOf(here))).config.retention).toBe("workqueue");
});

test("what was read is purged, so that a bounded stream never fills up while its reader keeps up", async () => {
  const here = channel();
  const { transport } = await connected();
  let got = 0;
  await transport.consume(here, async (batch) => {
    got += batch.length;
  });
  const large = Buffer.alloc(200 * 1024);
  for (let sent = 0; sent < 200; sent += 1) await transport.publish(here, large);
  await until("all is read", () => got === 200);
  let kept = Number.POSITIVE_INFINITY;
  const jsm = await jetstreamManager(admin);
  await until("most is purged", () => {
    void jsm.streams.info(streamOf(here)).then(({ state }) => {
      kept = state.bytes;
    });
    return kept < 20 * 1024 * 1024;
  });
});

test("a publish to a server that stands still fails within about two seconds", async () => {
  const here = channel();
  const { transport } = await connected();
  await transport.publish(here, Buffer.from("x"));
  process.kill(nats.pid, "SIGSTOP");
  let failure: unknown;
  let begun = 0;
  // The signal may reach it a little after the first of these.
  for (let tries = 0; failure === undefined && tries < 100; tries += 1) {
    begun = performance.now();
    failure = await transport.publish(here, Buffer.from("y")).catch((error: unknown) => error);
  }
  process.kill(nats.pid, "SIGCONT");
  expect(failure).toMatchObject({ failure: "timeout" });
  expect(performance.now() - begun).toBeLessThan(4_000);
  await until("it works again", () => {
    let works = true;
    transport.publish(here, Buffer.from("z")).catch(() => {
      works = false;
    });
    return works;
  });
});

test("a server that is not there is reported once, and tried until it is", async () => {
  const states: TransportState[] = [];
  const transport = createNatsTransport({ url: "nats://127.0.0.1:1", name: "test" });
  open.push(transport);
  transport.start({ onState: (state) => states.push(state), onRenewed: () => {} });
  await until("it is reported", () => states.length >= 2);
  await new Promise((resolve) => setTimeout(resolve, 700));
  expect(states.map(({ state }) => state)).toEqual(["connecting", "lost"]);
});
