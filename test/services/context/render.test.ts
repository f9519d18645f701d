import fc from "fast-check";
import { expect, test } from "vitest";
import type { TransferId } from "../../../schemas/ids.ts";
import type { ItemBody, VisibleItem } from "../../../schemas/item.ts";
import { renderItems } from "../../../services/context/render.ts";
import { shorten } from "../../../services/context/shorten.ts";
import { assistant, command, history, itemId, read, threadId, user } from "./items.ts";

const plenty = { recent: 10_000, older: 10_000 };
const textsOf = (items: VisibleItem[], detail = plenty) => renderItems(items, read, detail).blocks.map(({ text }) => text);

test("every kind that is told says what it is and keeps its whole text", () => {
  const items = history(
    [1, user("please\nfix it")],
    [1, command("npm test", "1 failed", 1)],
    [1, command("sleep 9", "", null)],
    [
      1,
      {
        kind: "file_change",
        changes: [
          { path: "a.ts", change: "update" },
          { path: "b.ts", change: "add" },
        ],
        diff: { text: "+x" },
      },
    ],
    [1, { kind: "tool_call", tool: "search", arguments: { text: '{"q":1}' }, result: { text: "none" }, ok: true }],
    [1, { kind: "tool_call", tool: "search", arguments: { text: "{}" }, result: { text: "" }, ok: false }],
    [1, { kind: "plan", content: { text: "1. look" } }],
    [1, { kind: "subagent", taskId: null, childThreadId: null, content: { text: "looked" } }],
    [1, { kind: "handoff", handoffId: "handoff:x" as never, transferId: "transfer:x" as TransferId, content: { text: "told" } }],
    [1, { kind: "error", content: { text: "no network" } }],
    [1, assistant("done")],
  );
  expect(textsOf(items)).toEqual([
    "User:\nplease\nfix it",
    "Command, exit code 1:\n$ npm test\n1 failed",
    "Command, no exit code:\n$ sleep 9",
    "Files changed:\nupdate a.ts\nadd b.ts\n+x",
    'Tool search:\n{"q":1}\n-> none',
    "Tool search, failed:\n{}",
    "Plan:\n1. look",
    "Subagent:\nlooked",
    "Told at this point:\ntold",
    "Error:\nno network",
    "Assistant:\ndone",
  ]);
});

test("an answered approval is told once with its answer; one that nobody answered is not", () => {
  const asked = (requestId: string): ItemBody => ({
    kind: "approval",
    requestId,
    question: "command",
    content: { text: `rm ${requestId}` },
    options: [],
  });
  const items = history(
    [1, asked("a")],
    [1, assistant("between")],
    [1, { kind: "approval_answer", requestId: "a", answer: "accept", by: "user" }],
    [1, asked("b")],
    [2, { kind: "approval_answer", requestId: "b", answer: "decline", by: "system" }],
  );
  const { blocks, notRetold } = renderItems(items, read, plenty);
  expect(blocks.map(({ text, itemIds }) => ({ text, itemIds }))).toEqual([
    { text: "Asked for approval:\nrm a\nAnswer (user): accept", itemIds: [itemId(1), itemId(3)] },
    { text: "Assistant:\nbetween", itemIds: [itemId(2)] },
    // The same request id in another run is another request.
    { text: "Answer (system): decline", itemIds: [itemId(5)] },
  ]);
  expect(notRetold).toEqual([{ itemId: itemId(4), text: "rm b" }]);
});

test("reasoning and fork markers are not retold", () => {
  const items = history(
    [1, { kind: "reasoning", content: { text: "hm" } }],
    [1, { kind: "fork_marker", sourceThreadId: threadId(2), sourceRunId: null, transferId: "transfer:x" as TransferId }],
  );
  expect(renderItems(items, read, plenty)).toEqual({
    blocks: [],
    notRetold: [
      { itemId: itemId(1), text: "hm" },
      { itemId: itemId(2), text: "" },
    ],
  });
});

test("long outputs lose their middle; the last run and failures keep more than older ones", () => {
  const output = `start ${"x".repeat(5_000)} end`;
  const items = history([1, command("a", output)], [1, command("b", output, 2)], [2, command("c", output)], [2, assistant(output)]);
  const { blocks } = renderItems(items, read, { recent: 1_000, older: 100 });
  expect(blocks.map(({ text }) => (text.length < 300 ? "short" : text.length < 1_300 ? "longer" : "whole"))).toEqual([
    "short",
    "longer",
    "longer",
    "whole",
  ]);
  expect(blocks[0]?.text).toMatch(/^Command, exit code 0:\n\$ a\nstart x+\n\[4910 characters left out\]\nx+ end$/);
  expect(blocks[0]?.cut.join("")).toHaveLength(4_910);
  expect(blocks[3]?.cut).toEqual([]);
});

test("an item that was cut off says so, and content that is gone too", () => {
  const blob = { digest: "0".repeat(64), bytes: 9, preview: "secret" };
  const items = history([1, assistant("half of"), { truncated: true }], [1, { kind: "user_message", content: { blob } }]);
  expect(textsOf(items)).toEqual(["Assistant (cut off):\nhalf of", "User:\n[this content is not available any more]"]);
});

test("a shortened text is what was kept around what was cut, and no character is cut in two", () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom("😀", "a"), maxLength: 400 }), fc.nat(200), (text, bound) => {
      const { text: told, cut } = shorten(text, bound);
      if (cut.length === 0) {
        expect(told).toBe(text);
        return;
      }
      const [removed = ""] = cut;
      const at = told.indexOf(`[${removed.length} characters left out]`);
      expect(at).toBeGreaterThanOrEqual(0);
      const start = told.slice(0, Math.max(at - 1, 0));
      const end = told.slice(at + `[${removed.length} characters left out]`.length + 1);
      expect(start + removed + end).toBe(text);
      expect(start.length + end.length).toBeLessThanOrEqual(bound + 1);
      for (const part of [start, removed, end]) expect(part.isWellFormed()).toBe(true);
    }),
  );
});
