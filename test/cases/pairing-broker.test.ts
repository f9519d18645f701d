import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { EnvironmentConfig } from "../../schemas/config.ts";
import { CommandRefused } from "../../services/runtime/environment-api.ts";
import { startEnvironment, type TestEnvironment, until } from "../support/environments.ts";
import { allGrants } from "../support/linked.ts";
import { TestNats } from "../support/nats.ts";

let nats: TestNats;
let other: TestNats;
beforeAll(async () => {
  [nats, other] = await Promise.all([TestNats.start(), TestNats.start()]);
});
afterAll(() => Promise.all([nats.end(), other.end()]));

const configOf = (env: TestEnvironment): EnvironmentConfig => JSON.parse(readFileSync(join(env.dir, "config.json"), "utf8"));
const online = (env: TestEnvironment) => env.links.list().every(({ status }) => status === "online");
const reasonOf = (attempt: Promise<unknown>) =>
  attempt.then(
    () => "none",
    (error) => (error instanceof CommandRefused ? error.refusal.reason : String(error)),
  );

test("a joiner that has no server takes the code's, for itself and for later; the inviter keeps the one that it named", async () => {
  const [host, guest] = await Promise.all([startEnvironment({ name: "host" }), startEnvironment({ name: "guest" })]);
  expect(await reasonOf(host.linkDesk.invite({ grants: [] }))).toBe("no_broker");
  const offer = await host.linkDesk.invite({ grants: allGrants, broker: { url: nats.url } });
  expect(offer).toMatchObject({ brokerUrl: nats.url, onThisMachineOnly: true });
  await guest.linkDesk.join({ code: offer.code, grants: allGrants });
  await until(() => online(host) && online(guest), "both are online");
  expect([configOf(host).nats, configOf(guest).nats]).toEqual([{ url: nats.url }, { url: nats.url }]);
  const [again, next] = [await host.restart(), await guest.restart()];
  await until(() => online(again) && online(next), "both are online again");
});

test("a joiner that has a server of its own keeps it: each link talks over the server that it was made on", async () => {
  const [host, guest, third] = await Promise.all(["host", "guest", "third"].map((name) => startEnvironment({ name })));
  if (host === undefined || guest === undefined || third === undefined) throw new Error("three were started");
  const one = await host.linkDesk.invite({ grants: [], broker: { url: nats.url } });
  const two = await third.linkDesk.invite({ grants: [], broker: { url: other.url } });
  await guest.linkDesk.join({ code: one.code, grants: [] });
  await guest.linkDesk.join({ code: two.code, grants: [] });
  await until(() => online(host) && online(guest) && online(third), "all are online");
  expect(configOf(guest)).toMatchObject({
    nats: { url: nats.url },
    links: [{ name: "host" }, { name: "third", nats: { url: other.url } }],
  });
  const restarted = await guest.restart();
  await until(() => restarted.links.list().length === 2 && online(restarted), "both are online again");
});

test("a server that cannot be reached refuses inviting and joining, and leaves nothing behind", async () => {
  const gone = await TestNats.start();
  const [host, guest] = await Promise.all([startEnvironment({ name: "host" }), startEnvironment({ name: "guest" })]);
  const { code } = await host.linkDesk.invite({ grants: [], broker: { url: gone.url } });
  await gone.end();
  const before = configOf(guest);
  expect(await reasonOf(guest.linkDesk.join({ code, grants: [], waitMs: 500 }))).toBe("broker_unreachable");
  expect(configOf(guest)).toEqual(before);
  expect(await reasonOf(guest.linkDesk.invite({ grants: [], broker: { url: gone.url } }))).toBe("broker_unreachable");
  expect(await reasonOf(guest.linkDesk.invite({ grants: [], broker: { url: "http://x" } }))).toBe("bad_broker");
  expect(guest.linkDesk.invites()).toEqual([]);
  expect(configOf(guest)).toEqual(before);
}, 40_000);

test("neither the server's files nor config.json hold a word of what was said while pairing, nor the secret", async () => {
  const [host, guest] = await Promise.all([startEnvironment({ name: "planted-host" }), startEnvironment({ name: "planted-guest" })]);
  const { code } = await host.linkDesk.invite({ grants: [], broker: { url: nats.url } });
  await guest.linkDesk.join({ code, grants: [] });
  await until(() => online(host) && online(guest), "both are online");
  const { invites } = JSON.parse(readFileSync(join(host.dir, "keys", "invites.json"), "utf8"));
  expect(statSync(join(host.dir, "keys", "invites.json")).mode & 0o077).toBe(0);
  const stored = readdirSync(nats.folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"));
  expect(stored.join("").length).toBeGreaterThan(1_000);
  for (const secret of ["planted-host", "planted-guest", invites[0].secret])
    for (const text of [...stored, readFileSync(join(host.dir, "config.json"), "utf8").replaceAll("planted-", "")])
      expect(text.includes(secret)).toBe(false);
});
