import { readFileSync } from "node:fs";
import { PassThrough } from "node:stream";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { answerIn, choiceWords } from "../../../../services/cli/attach/asked.ts";
import { type Key, onKeys } from "../../../../services/cli/attach/keys.ts";
import { LineEditor } from "../../../../services/cli/attach/line-editor.ts";
import { slashCommandIn, slashCommands } from "../../../../services/cli/attach/slash-commands.ts";

const key = (name: string): Key => ({ type: "key", name });
const typed = (...keys: (string | Key)[]): LineEditor => {
  const editor = new LineEditor();
  for (const one of keys) editor.press(typeof one === "string" ? { type: "text", text: one } : one);
  return editor;
};

describe("the line editor", () => {
  test("edits words and lines as a shell does", () => {
    expect(typed("one two-three", key("ctrl-w")).text).toBe("one two-");
    expect(typed("one two", key("ctrl-a"), "zero ", key("ctrl-k")).text).toBe("zero ");
    expect(typed("one two", key("ctrl-left"), key("ctrl-u"), key("end"), " ", key("ctrl-y")).text).toBe("two one ");
    expect(typed("ab", key("left"), key("meta-return"), "x").text).toBe("a\nxb");
    expect(typed("one\ntwo", key("up"), "!", key("down"), "?").text).toBe("one!\ntwo?");
    expect(typed("one\ntwo", key("home"), key("backspace")).text).toBe("onetwo");
  });

  test("combining characters and families of emoji are taken away whole, however they came in", () => {
    expect(typed("e", "\u0301", "x", key("left"), key("backspace")).text).toBe("x");
    expect(typed("a👩", "\u200d👩", "\u200d👧", key("backspace")).text).toBe("a");
  });

  test("up and down go through what was sent, and back to the draft as it was", () => {
    const editor = typed("first");
    editor.take();
    editor.press({ type: "text", text: "draft" });
    editor.press(key("up"));
    expect(editor.text).toBe("first");
    editor.press(key("up"));
    expect(editor.text).toBe("first");
    editor.press(key("down"));
    expect(editor.text).toBe("draft");
  });

  test("a long text in few rows shows those around the cursor, and the cursor is in them", () => {
    fc.assert(
      fc.property(
        fc.string({ maxLength: 200, unit: "grapheme" }),
        fc.integer({ min: 12, max: 60 }),
        fc.integer({ min: 1, max: 5 }),
        fc.nat(50),
        (text, columns, most, left) => {
          const editor = typed(text, ...Array.from({ length: left }, () => key("left")));
          const { rows, cursor } = editor.lay("› ", columns, most);
          expect(rows.length).toBeLessThanOrEqual(most);
          expect(cursor.row).toBeGreaterThanOrEqual(0);
          expect(cursor.row).toBeLessThan(rows.length);
          expect(cursor.column).toBeLessThan(columns);
        },
      ),
    );
  });
});

test("keys come as they are pressed, pastes as one text however they are cut into pieces, and control sequences never as text", async () => {
  const input = new PassThrough();
  const keys: Key[] = [];
  const off = onKeys(input, (one) => keys.push(one));
  const send = async (...pieces: string[]) => {
    for (const piece of pieces) {
      input.write(piece);
      await new Promise((resolve) => setImmediate(resolve));
    }
    return keys.splice(0);
  };
  expect(await send("a", "\r", "\u0003", "\u001b[A", "\u001b\r")).toEqual([
    { type: "text", text: "a" },
    ...["return", "ctrl-c", "up", "meta-return"].map(key),
  ]);
  expect(await send("\u001b[200~one\r", "\u001b[31mtwo", "\r\u0007three\u001b[201~", "\r")).toEqual([
    { type: "text", text: "one\ntwo\nthree" },
    key("return"),
  ]);
  expect(await send("one\rtwo\r")).toEqual([{ type: "text", text: "one\ntwo\n" }]);
  expect(await send("y\r")).toEqual([{ type: "text", text: "y" }, key("return")]);
  off();
});

test("a line is an answer only where the request takes it", () => {
  const approval = {
    runId: "run:1" as never,
    requestId: "r",
    text: "",
    isApproval: true,
    choices: [
      { key: "y", answer: "accept" },
      { key: "n", answer: "decline" },
    ],
  };
  expect(["y", "Y ", "yes", "maybe", "no", "decline"].map((line) => answerIn(line, approval))).toEqual([
    "accept",
    "accept",
    "accept",
    null,
    "decline",
    "decline",
  ]);
  expect(choiceWords(approval)).toBe("y accept, n decline");
  const question = { ...approval, isApproval: false, choices: [{ key: "1", answer: "Blue" }] };
  expect(["1", "blue", "red it is"].map((line) => answerIn(line, question))).toEqual(["Blue", "Blue", "red it is"]);
});

test("a line with a slash is a command only when it looks like one", () => {
  expect(slashCommandIn("/fork  A title ")).toEqual({ name: "fork", rest: "A title" });
  expect(["/usr/bin is full", "//stop", "stop", "/Tmp", "/ x"].map(slashCommandIn)).toEqual([null, null, null, null, null]);
});

test("the guide names the commands that there are, and no others", () => {
  const guide = readFileSync(new URL("../../../../docs/guide/attach.md", import.meta.url), "utf8");
  const named = [...guide.matchAll(/^\| `(\/[^`]+)` \|/gm)].map(([, usage = ""]) => usage.replaceAll("\\|", "|"));
  expect(named).toEqual(Object.values(slashCommands).map(({ usage }) => usage));
});
