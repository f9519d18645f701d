import { createHash } from "node:crypto";
import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import type { HandoffBudget } from "../../../schemas/handoff.ts";
import { type BuildResult, buildHandoff, buildResultHandoff, buildTaskHandoff } from "../../../services/context/build.ts";
import { createTokenCounter } from "../../../services/context/tokens.ts";
import { assistant, command, history, itemId, read, runId, threadId, user } from "./items.ts";

const counter = createTokenCounter();
afterAll(() => counter.close());
const unused = { count: () => Promise.reject(new Error("this needs no counter")) };
const plenty: HandoffBudget = { unit: "tokens", limit: 24_000 };
const inChars = (limit: number): HandoffBudget => ({ unit: "chars", limit });

function ok(result: BuildResult) {
  if (!result.ok) throw new Error(result.refusal.message);
  return result;
}

const two = history([1, user("remember BLUE")], [1, assistant("I will")], [2, user("go on")], [2, assistant("done")]);
const told = "User:\nremember BLUE\n\nAssistant:\nI will\n\nUser:\ngo on\n\nAssistant:\ndone";

test.each([
  [{ about: "import" }, "portable_context", "Imported conversation history from before this thread ran here."],
  [{ about: "fork" }, "portable_context", "Conversation history up to the point where this conversation was forked from another."],
  [{ about: "switch" }, "portable_context", "Conversation history so far. Another assistant answered in it before you."],
  [{ about: "missed" }, "delta_context", "What happened in this conversation that you have not been told of yet."],
  [
    { about: "merge_back", title: "Try it" },
    "delta_context",
    'The fork "Try it" of this conversation was merged back. This happened there, and you have not been told of it before.',
  ],
  [
    { about: "checkpoint", workspaceRef: "refs/x/1" },
    "checkpoint_context",
    "Conversation history up to a checkpoint of another conversation, from which this one was started. The files as they were then: git ref refs/x/1.",
  ],
] as const)("a handoff about %j is the header and the items as text", async (subject, kind, header) => {
  const built = ok(await buildHandoff({ subject, items: two, read, budget: plenty, counter: unused }));
  expect(built).toMatchObject({ kind, isMessage: false, payload: `${header}\n\n${told}`, budget: plenty, leftOut: [] });
  expect(built.digest).toBe(createHash("sha256").update(built.payload).digest("hex"));
  expect(built.covers).toEqual([
    { threadId: threadId(1), runId: runId(1), ordinal: 1 },
    { threadId: threadId(1), runId: runId(2), ordinal: 2 },
  ]);
});

test("an import's history covers ordinal 0, without a run", async () => {
  const built = ok(
    await buildHandoff({ subject: { about: "import" }, items: history([0, user("old")]), read, budget: plenty, counter: unused }),
  );
  expect(built.covers).toEqual([{ threadId: threadId(1), runId: null, ordinal: 0 }]);
});

test("what may be a repeat says so before everything else", async () => {
  const built = ok(await buildHandoff({ subject: { about: "fork" }, items: two, read, budget: plenty, counter: unused, mayRepeat: true }));
  expect(built.payload).toMatch(/^You may have been given this before\. If so, it is the same and nothing new\.\n\nConversation history/);
});

test("a small handoff needs no tokenizer, reasoning and cut outputs included, and says that its size is a bound", async () => {
  const items = history(
    [1, user("go")],
    [1, { kind: "reasoning", content: { text: "hm" } }],
    [1, command("ls", "x".repeat(20_000))],
    [1, assistant("done")],
  );
  const built = ok(await buildHandoff({ subject: { about: "fork" }, items, read, budget: plenty, counter: unused }));
  expect(built).toMatchObject({ exact: false, size: Buffer.byteLength(built.payload) });
  expect(built.leftOut).toEqual([
    { itemId: itemId(3), reason: "truncated_output", size: 4_000 },
    { itemId: itemId(2), reason: "not_retold_kind", size: 2 },
  ]);
});

test("outputs are shortened before a message is left out", async () => {
  const turns = Array.from({ length: 20 }, (_, n) => [
    [n + 1, user(`request ${n}`)] as const,
    [n + 1, command(`run ${n}`, "x".repeat(4_000), n % 7 === 3 ? 1 : 0)] as const,
    [n + 1, assistant(`answer ${n}`)] as const,
  ]);
  const items = history(...turns.flat());
  const built = ok(await buildHandoff({ subject: { about: "fork" }, items, read, budget: inChars(12_000), counter: unused }));
  for (let n = 0; n < 20; n += 1) {
    for (const part of [`request ${n}\n`, `$ run ${n}\n`, `answer ${n}`]) expect(built.payload).toContain(part);
  }
  expect(built.size).toBeLessThanOrEqual(12_000);
  expect(new Set(built.leftOut.map(({ reason }) => reason))).toEqual(new Set(["truncated_output"]));
});

const megabyte = history(
  ...Array.from(
    { length: 2_000 },
    (_, n) => [n + 1, n % 2 === 0 ? user(`ask ${n} ${"word ".repeat(100)}`) : assistant(`say ${n}`)] as const,
  ),
  [2_001, user("and the newest")],
);

test.each([
  ["chars", 1_000],
  ["tokens", 1_000],
] as const)(
  "H05 a megabyte of history under a budget of 1,000 %s is at most that, with the newest, and counts what is left out",
  async (unit, limit) => {
    const budget = { unit, limit };
    const built = ok(await buildHandoff({ subject: { about: "switch" }, items: megabyte, read, budget, counter }));
    const real = unit === "chars" ? built.payload.length : (await counter.count([built.payload]))[0];
    expect(built.size).toBe(real);
    expect(built.size).toBeLessThanOrEqual(limit);
    expect(built.payload.endsWith("User:\nand the newest")).toBe(true);
    expect(built.payload).toContain("say 1999");
    const kept = (built.payload.match(/^(User|Assistant):$/gm) ?? []).length;
    expect(kept + built.leftOut.length).toBe(2_001);
    expect(built.payload).toMatch(/\[\d+ items left out here\]/);
    for (const left of built.leftOut) expect(left).toMatchObject({ itemId: expect.any(String), reason: "over_budget" });
    expect(built.covers).toHaveLength(2_001);
  },
);

test("H05 budget 0 and an item that is too large alone are refused, and a larger budget then works", async () => {
  const items = history([1, user("go")], [1, assistant("word ".repeat(2_000))]);
  for (const unit of ["chars", "tokens"] as const) {
    for (const limit of [0, 1_000]) {
      const refused = await buildHandoff({ subject: { about: "switch" }, items, read, budget: { unit, limit }, counter });
      expect(refused).toMatchObject({
        ok: false,
        refusal: { code: "invalid_request", reason: "context_too_large", details: { limit, unit } },
      });
    }
    const larger = { unit, limit: 12_000 };
    expect(await buildHandoff({ subject: { about: "switch" }, items, read, budget: larger, counter })).toMatchObject({ ok: true });
  }
});

test("in tokens too a handoff never exceeds its budget and comes out the same again", { timeout: 30_000 }, async () => {
  const words = fc.string({ unit: "binary", maxLength: 60 });
  const bodies = fc.array(fc.tuple(fc.boolean(), words), { minLength: 1, maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(bodies, fc.integer({ min: 20, max: 400 }), async (said, limit) => {
      const items = history(...said.map(([asked, text], n) => [n + 1, asked ? user(text) : assistant(text)] as const));
      const build = () => buildHandoff({ subject: { about: "fork" }, items, read, budget: { unit: "tokens", limit }, counter });
      const built = await build();
      expect(await build()).toEqual(built);
      if (!built.ok) return;
      const [count = 0] = await counter.count([built.payload]);
      expect(count).toBeLessThanOrEqual(limit);
      expect(built.size).toBeGreaterThanOrEqual(count);
    }),
    { numRuns: 60 },
  );
});

test("S10 a task with nothing handed over is the task alone", async () => {
  const built = ok(
    await buildTaskHandoff({ task: "Count the files.", handedOver: null, isMessage: true, budget: plenty, counter: unused }),
  );
  expect(built).toMatchObject({ payload: "Count the files.", isMessage: true, kind: "portable_context", covers: [], leftOut: [] });
});

test("what a task hands over comes before it, under a header", async () => {
  const built = ok(
    await buildTaskHandoff({ task: "Count.", handedOver: "In src only.", isMessage: true, budget: plenty, counter: unused }),
  );
  expect(built.payload).toBe("Handed over to you for the task below:\n\nIn src only.\n\nYour task:\n\nCount.");
  expect(built.isMessage).toBe(true);
});

test("a task that is larger than the budget is refused", async () => {
  expect(
    await buildTaskHandoff({ task: "x".repeat(11), handedOver: null, isMessage: true, budget: inChars(10), counter: unused }),
  ).toMatchObject({
    ok: false,
    refusal: { reason: "context_too_large", details: { size: 11, limit: 10 } },
  });
});

test.each([
  ["completed", "42 files", null, 'Result of the task "Count": completed.\n\n42 files'],
  ["completed", null, null, 'Result of the task "Count": completed. It gave no text.'],
  ["failed", "so far 7", "no network", 'Result of the task "Count": failed. Reason: no network\n\nso far 7'],
  ["cancelled", null, null, 'Result of the task "Count": cancelled. It gave no text.'],
  ["interrupted", "", null, 'Result of the task "Count": interrupted. It gave no text.'],
] as const)("S04 a result says its own status (%s) and whether there is a text (%j)", async (status, text, reason, payload) => {
  const built = ok(await buildResultHandoff({ title: "Count", status, text, reason, budget: plenty, counter: unused }));
  expect(built).toMatchObject({ payload, isMessage: false, kind: "portable_context", covers: [], leftOut: [] });
});

test.each(["chars", "tokens"] as const)(
  "a result larger than the budget is told with its middle cut out, named and listed (%s)",
  async (unit) => {
    const text = `first ${"word ".repeat(5_000)}last`;
    const built = ok(await buildResultHandoff({ title: "Count", status: "completed", text, budget: { unit, limit: 500 }, counter }));
    expect(built.payload).toMatch(/^Result of the task "Count": completed\.\n\nfirst .*\n\[\d+ characters left out\]\n.*last$/s);
    expect(built.size).toBeLessThanOrEqual(500);
    expect(built.size).toBeGreaterThan(450);
    expect(built.leftOut).toEqual([{ itemId: null, reason: "truncated_output", size: expect.any(Number) }]);
    expect(await buildResultHandoff({ title: "Count", status: "completed", text, budget: { unit, limit: 5 }, counter })).toMatchObject({
      ok: false,
      refusal: { reason: "context_too_large" },
    });
  },
);
