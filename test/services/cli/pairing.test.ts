import { afterAll, beforeAll, expect, test } from "vitest";
import { TestNats } from "../../support/nats.ts";
import { config, lately, until, world } from "./rig.ts";

let nats: TestNats;
beforeAll(async () => {
  nats = await TestNats.start();
});
afterAll(() => nats.end());

const other = (name: string) => config({ environment: { id: `env:01a22d31-9dc2-7749-a2be-${name.padStart(12, "0")}`, name } });

test("two environments are linked with two commands, and both show the same fingerprint", async () => {
  const [laptop, box] = [world(other("a1")), world(other("b2"))];
  const invited = await laptop.run("link", "invite", "the box", "--nats", nats.url, "--grant", "spawn,read", "--for", "15m");
  expect(invited.code).toBe(0);
  expect(invited.stdout).toContain("once, for 15 minutes");
  expect(invited.stdout).toContain("spawn (at most auto-accept-edits, default), read");
  expect(invited.stdout).toContain("leads to this machine alone");
  const code = /link join (\S+)/.exec(invited.stdout)?.[1] ?? "";
  const joined = await box.start(["link", "join", "-", "--grant", "none"], { input: `${code}\n` }).ended;
  expect(joined.code, joined.stderr).toBe(0);
  const fingerprint = /fingerprint (\S+):/.exec(joined.stdout)?.[1] ?? "";
  expect(joined.stdout).toContain("linked with a1 (link:");

  await until(async () => (await laptop.json("link", "list")).links[0].status === "online");
  const shown = await laptop.run("link", "show", "the box");
  expect(shown.stdout).toContain(fingerprint);
  expect(shown.stdout).toMatch(/^it may here +spawn \(at most auto-accept-edits, default\), read$/m);
  expect((await box.run("link", "show", "a1")).stdout).toMatch(/^it may here +nothing$/m);
  expect((await laptop.run("link", "invites")).stdout).toMatch(new RegExp(`^the box +used ${lately} +link:\\S+ \\S+ +spawn`, "m"));

  expect(await box.run("--json", "link", "join", code)).toMatchObject({ code: 0, json: { created: false, fingerprint } });
  expect(await laptop.run("--json", "link", "join", code)).toMatchObject({ code: 2, json: { refusal: { reason: "own_code" } } });
});

test("what is typed wrong is refused with what to do, and waiting for nobody ends at its bound", async () => {
  const at = world(other("c3"));
  const refused = (...args: string[]) => at.run("--json", "link", ...args);
  expect(await refused("invite")).toMatchObject({ code: 2, json: { refusal: { reason: "no_broker" } } });
  expect(await refused("invite", "--grant", "everything")).toMatchObject({ code: 2, json: { refusal: { reason: "grant_kind" } } });
  expect(await refused("invite", "--creds", "x")).toMatchObject({ code: 2, json: { refusal: { reason: "no_broker" } } });
  expect(await refused("invite", "--nats", "box:4222")).toMatchObject({ code: 2, json: { refusal: { reason: "bad_broker" } } });
  expect(await refused("invite", "--nats", nats.url, "--for", "a while")).toMatchObject({ code: 2 });
  expect(await refused("join", "come in")).toMatchObject({ code: 2, json: { refusal: { reason: "not_a_code" } } });
  expect(await refused("join")).toMatchObject({ code: 2 });
  const waited = at.start(["--json", "link", "invite", "--wait", "1s"], { env: { NATS_URL: nats.url } });
  expect(await waited.ended).toMatchObject({ code: 5, json: { usedBy: null, brokerUrl: nats.url } });
});

test("a link is renamed, granted anew, revoked and forgotten from the command line, and what is not said is not done", async () => {
  const [laptop, box] = [world(other("d4")), world(other("e5"))];
  const { code } = await laptop.json("link", "invite", "--nats", nats.url);
  await box.json("link", "join", code);
  expect((await laptop.run("link", "rename", "e5", "the box")).stdout).toContain("is called the box");
  const granted = await laptop.run("link", "grant", "the box", "--grant", "spawn", "--max-open", "2", "--max-depth", "1");
  expect(granted.stdout).toContain("the box may spawn (at most auto-accept-edits, default, 2 at work, 1 deep) here");
  const refused = (...args: string[]) => laptop.run("--json", "link", ...args);
  expect(await refused("grant", "the box")).toMatchObject({ code: 2, json: { refusal: { reason: "no_grants" } } });
  expect(await refused("forget", "the box")).toMatchObject({ code: 2, json: { refusal: { reason: "not_said" } } });
  expect(await refused("rejoin", "the box")).toMatchObject({ code: 2, json: { refusal: { reason: "not_diverged" } } });
  expect((await laptop.run("link", "revoke", "the box", "--reason", "sold")).stdout).toContain(
    "the box is ended; 0 threads of it stopped here",
  );
  expect((await laptop.run("link", "show", "the box")).stdout).toMatch(/^ended +revoked, .*: sold$/m);
  expect((await laptop.run("link", "forget", "the box", "--gone")).stdout).toContain("the box is forgotten");
  expect(await refused("forget", "the box", "--gone")).toMatchObject({ code: 2, json: { refusal: { reason: "link_ended" } } });
  await until(async () => (await box.run("link", "show", "d4")).stdout.includes("the other side has"));
});
