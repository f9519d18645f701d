import { expect, test } from "vitest";
import { systemIdentifiers } from "../../../services/runtime/system-identifiers.ts";
import { config, world } from "./rig.ts";

const peer = { environmentId: systemIdentifiers.next("env"), publicKey: Buffer.alloc(32, 9).toString("base64url") };
// Nothing carries its messages: the peer sleeps.
const box = world(config({ links: [{ id: systemIdentifiers.next("link"), name: "attic", peer, grants: [] }] }));

test("a move to a peer that sleeps waits visibly, shows in show and needs, and is taken back by the command that needs names", async () => {
  await box.up();
  const threadId = await box.thread("Release", "hello");
  const asked = await box.json("move", threadId, "--to", "attic", "--no-wait");
  expect(asked).toMatchObject({ ok: true, moveId: expect.stringMatching(/^move:/), threadId: expect.stringMatching(/^thread:import:/) });
  expect(await box.run("move", threadId, "--to", "attic", "--timeout", "1s")).toMatchObject({ code: 2 });
  expect((await box.run("show", threadId)).stdout).toMatch(/^move +about to move, waits for the other environment \(to env:/m);
  const needs = await box.run("needs");
  expect(needs).toMatchObject({ code: 10 });
  const [, typed = ""] = needs.stdout.trimEnd().split("ropewalk ");
  expect(needs.stdout).toMatch(/attic does not answer.* move waits +Release/);
  const back = await box.run(...typed.split(" "));
  expect(back).toMatchObject({ code: 0, stdout: "taken back; the thread stays here\n" });
  expect(await box.run("needs")).toMatchObject({ code: 0 });
  expect(await box.run("send", threadId, "again")).toMatchObject({ code: 0 });
});

test("waiting for a move that nobody decides ends with 5, and the move goes on; without a place it is a usage error", async () => {
  const threadId = await box.thread("Later", "hello");
  expect(await box.run("move", threadId)).toMatchObject({ code: 2 });
  const waited = await box.run("move", threadId, "--to", "attic", "--timeout", "1s");
  expect(waited).toMatchObject({ code: 5, stdout: "" });
  expect(waited.stderr).toContain("not decided yet");
  const { moves } = await box.client.moves({ open: true });
  expect(moves).toMatchObject([{ threadId, status: "pending" }]);
});
