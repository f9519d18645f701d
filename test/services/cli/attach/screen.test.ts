import xterm from "@xterm/headless";
import fc from "fast-check";
import { expect, test } from "vitest";
import { type Below, layBelow } from "../../../../services/cli/attach/below.ts";
import { LineEditor } from "../../../../services/cli/attach/line-editor.ts";
import { Screen } from "../../../../services/cli/attach/screen.ts";
import { widthOf } from "../../../../services/cli/terminal.ts";

const word = fc.constantFrom("a", "bc", "Tau", "日本", "é", " ", "knot", "\t");
const text = fc.array(word, { maxLength: 60 }).map((words) => words.join(""));
const asks: Below["asked"] = {
  runId: "run:1" as never,
  requestId: "r",
  text: "may I?",
  isApproval: true,
  choices: [{ key: "y", answer: "accept" }],
};
const below: fc.Arbitrary<Below> = fc.record({
  partial: text,
  asked: fc.constantFrom(null, asks),
  moreAsked: fc.nat(2),
  confirm: fc.constantFrom(null, null, "sure?"),
  queued: fc.array(text, { maxLength: 5 }),
  unsent: fc.array(text, { maxLength: 2 }),
  status: text,
  isLost: fc.boolean(),
});
const steps = fc.array(
  fc.record({
    lines: fc.array(
      text.map((line) => line.replaceAll("\t", " ")),
      { maxLength: 4 },
    ),
    below,
    typed: text,
  }),
  { minLength: 1, maxLength: 12 },
);

test("whatever is told and drawn, the terminal shows every line once, in order, and below them only what was drawn last", async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 12, max: 90 }), fc.integer({ min: 4, max: 20 }), steps, async (columns, rows, all) => {
      const terminal = new xterm.Terminal({ cols: columns, rows, scrollback: 5_000, allowProposedApi: true, convertEol: true });
      const written: Promise<void>[] = [];
      const screen = new Screen({ columns, rows, write: (part) => written.push(new Promise((resolve) => terminal.write(part, resolve))) });
      const editor = new LineEditor();
      const told: string[] = [];
      let last = { rows: [] as string[], cursor: { row: 0, column: 0 } };
      for (const step of all) {
        editor.press({ type: "text", text: step.typed });
        last = layBelow(step.below, editor, screen);
        for (const row of last.rows) expect(widthOf(row)).toBeLessThan(columns);
        expect(last.rows.length).toBeLessThan(rows);
        told.push(...step.lines);
        screen.draw(step.lines, last);
      }
      await Promise.all(written);
      const seen: string[] = [];
      for (let at = 0; at < terminal.buffer.active.length; at += 1) {
        const row = terminal.buffer.active.getLine(at);
        const shown = row?.translateToString() ?? "";
        if (row?.isWrapped === true) seen[seen.length - 1] += shown;
        else seen.push(shown);
      }
      const bare = (lines: string[]) =>
        lines
          .map((line) => line.replace(/\s+$/, "").replaceAll(/\s/g, ""))
          .join("\n")
          .trimEnd();
      // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are not shown as text
      const drawn = last.rows.map((row) => row.replace(/\u001b\[[0-9;]*m/g, ""));
      expect(bare(seen)).toBe(bare([...told, ...drawn]));
      const { cursorX, cursorY, baseY } = terminal.buffer.active;
      expect(cursorX).toBe(last.cursor.column);
      expect(bare([terminal.buffer.active.getLine(baseY + cursorY)?.translateToString() ?? ""])).toBe(bare([drawn[last.cursor.row] ?? ""]));
    }),
    { numRuns: 100 },
  );
});
