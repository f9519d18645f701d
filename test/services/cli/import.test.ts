import { beforeAll, expect, test } from "vitest";
import { importThreadId } from "../../../schemas/ids.ts";
import { world } from "./rig.ts";

const box = world();
beforeAll(async () => {
  await box.up();
});

const request = (handoffId: string, changes: object = {}) => ({
  handoffId,
  sourceEnvironmentId: "elsewhere",
  sourceThreadId: "t1",
  title: "from elsewhere",
  messages: [
    { role: "user", text: "the codeword is tulip" },
    { role: "assistant", text: "noted" },
  ],
  ...changes,
});
const threads = async () => (await box.client.threads({ includeDeleted: true })).threads.length;

test("a file is imported once: the same again is the same thread, and another text under its key is refused", async () => {
  const file = box.put("import.json", request("h1"));
  const first = await box.json("import", file);
  expect(first).toMatchObject({
    ok: true,
    created: true,
    threadId: importThreadId("elsewhere", "t1", "h1"),
    runId: null,
    continuation: "none",
  });
  expect(await box.json("import", file)).toMatchObject({ created: false, threadId: first.threadId });
  expect((await box.client.items(first.threadId)).items.map((item) => item.body.kind)).toEqual(["user_message", "assistant_message"]);
  const other = box.put("other.json", request("h1", { title: "changed" }));
  expect(await box.run("--json", "import", other)).toMatchObject({ code: 3, json: { refusal: { code: "idempotency_conflict" } } });
  expect((await box.run("show", first.threadId)).stdout).toMatch(/history +imported/);
});

test("from standard input, with a prompt to go on with: its answer is waited for, also when it is there already", async () => {
  const input = JSON.stringify(request("h2"));
  const args = ["import", "-", "--prompt", "go on then", "--wait"];
  expect(await box.start(args, { input }).ended).toMatchObject({ code: 0, stdout: "ok: go on then\n" });
  expect(await box.start(["--json", ...args], { input }).ended).toMatchObject({
    code: 0,
    json: { created: false, continuation: "already", text: "ok: go on then" },
  });
});

test("what is too long or too much is refused by name, and nothing is written", async () => {
  const before = await threads();
  const long = { role: "user", text: "x".repeat(200_001) };
  const many = Array.from({ length: 2_001 }, () => ({ role: "user", text: "x" }));
  for (const [changes, named] of [
    [{ messages: [long] }, "messages.0.text"],
    [{ messages: many }, "messages"],
    [{ title: "t".repeat(513) }, "title"],
    [{ continuationPrompt: "p".repeat(120_001) }, "continuationPrompt"],
  ] as const) {
    const { code, json } = await box.start(["--json", "import", "-"], { input: JSON.stringify(request("h3", changes)) }).ended;
    expect({ code, refusal: json.refusal }).toMatchObject({
      code: 2,
      refusal: { code: "invalid_request", reason: "limit_exceeded", message: expect.stringContaining(named) },
    });
  }
  expect(await threads()).toBe(before);
});

test("what is no JSON, no import, no UTF-8 or holds half a character is refused, and nothing is written", async () => {
  const before = await threads();
  const lone = JSON.stringify(request("h4")).replace("tulip", "\\ud83d");
  for (const [input, reason] of [
    ["{oops", "malformed_json"],
    ["[1, 2]", "not_an_import"],
    [new Uint8Array([0x22, 0xff, 0x22]), "ill_formed_unicode"],
    [lone, "ill_formed_unicode"],
  ] as const) {
    const { code, json, stderr } = await box.start(["--json", "import", "-"], { input }).ended;
    expect({ code, reason: json?.refusal?.reason, stderr }).toMatchObject({
      code: 2,
      reason,
      stderr: expect.stringMatching(/^error: .*\nhint: /m),
    });
  }
  expect(await threads()).toBe(before);
});

test("an environment that nothing leads to is named as such, for an import and for a spawn", async () => {
  const threadId = await box.thread("here", "hello");
  for (const args of [
    ["import", box.put("i.json", request("h5")), "--to", "nowhere"],
    ["import", "--thread", threadId, "--to", "nowhere"],
    ["spawn", threadId, "a task", "--to", "nowhere"],
  ]) {
    expect(await box.run("--json", ...args)).toMatchObject({ code: 2, json: { refusal: { reason: "unknown_environment" } } });
  }
});
