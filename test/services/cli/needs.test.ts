import { expect, test } from "vitest";
import { systemIdentifiers } from "../../../services/runtime/system-identifiers.ts";
import { config, until, world } from "./rig.ts";

const peer = { environmentId: systemIdentifiers.next("env"), publicKey: Buffer.alloc(32, 9).toString("base64url") };
const box = world(
  config({
    providers: {
      scripted: { kind: "scripted", script: "needs.json" },
      stubborn: { kind: "scripted", script: "stubborn.json" },
    },
    // Nothing carries its messages: the peer sleeps.
    links: [{ id: systemIdentifiers.next("link"), name: "attic", peer, grants: [] }],
  }),
);

const rules = [
  { match: { contains: "approve" }, steps: [{ approval: { text: "rm -rf build" } }, { text: "removed" }] },
  { match: { contains: "limit" }, times: 1, steps: [{ fail: { reason: "usage_limit", message: "429, come back later" } }] },
];

test("needs shows an approval, a limit, a task for a sleeping peer and a failed transfer, each with what clears it", async () => {
  box.put("needs.json", { rules });
  box.put("stubborn.json", { capabilities: { refuseFork: true }, rules: [] });
  await box.up();
  expect(await box.run("needs")).toMatchObject({ code: 0, stdout: "nothing needs you\n" });

  await box.thread("asks", "approve this");
  await box.thread("limited", "limit");
  const source = await box.thread("source");
  await box.run("send", source, "hello", "--with", "stubborn");
  const { threadId: forked } = await box.json("fork", source);
  await box.run("send", forked, "go on", "--with", "stubborn");
  await box.json("spawn", source, "look at part one", "--to", "attic");

  const watching = box.start(["--json", "needs", "--watch"]);
  await until(() => watching.stdout().split("\n").length > 1, watching.ended);
  const told = await box.run("needs");
  expect(told.code).toBe(10);
  const lines = told.stdout.trimEnd().split("\n");
  expect(lines).toEqual([
    expect.stringMatching(/^rm -rf build +asks +asks .* ropewalk ok \S+$/),
    expect.stringMatching(/^429, come back later.* limit +limited .* ropewalk send \S+ --again$/),
    expect.stringMatching(/ not told .* ropewalk send \S+ --again$/),
    expect.stringMatching(/^attic does not answer.* waits .* ropewalk task cancel \S+$/),
  ]);
  for (const line of lines) {
    const [, typed = ""] = line.split("ropewalk ");
    expect(await box.run(...typed.split(" "))).toMatchObject({ code: 0 });
  }
  await until(async () => (await box.run("needs")).code === 0);
  watching.child.kill("SIGINT");
  const shown = (await watching.ended).stdout.trimEnd().split("\n");
  expect(JSON.parse(shown[0] ?? "").needs).toHaveLength(4);
  expect(JSON.parse(shown.at(-1) ?? "").needs).toEqual([]);
});

test("send --again repeats the message that failed, and nothing that went well", async () => {
  const threadId = await box.thread("well", "hello");
  expect(await box.run("--json", "send", threadId, "--again")).toMatchObject({
    code: 2,
    json: { refusal: { reason: "nothing_to_repeat" } },
  });
  expect(await box.run("--json", "send", threadId, "more", "--again")).toMatchObject({
    code: 2,
    json: { refusal: { reason: "usage" } },
  });
  expect(await box.run("--json", "send", threadId)).toMatchObject({ code: 2, json: { refusal: { reason: "usage" } } });
});
