import { clean, cut, oneLine, style, widthOf } from "../terminal.ts";
import { counted } from "../words.ts";
import { type Asked, choiceWords } from "./asked.ts";
import type { Laid, LineEditor } from "./line-editor.ts";

/** What stands below the conversation. */
export type Below = {
  /** The last line of what the agent is writing. */
  partial: string;
  asked: Asked | null;
  moreAsked: number;
  /** What we ask before we do something. */
  confirm: string | null;
  /** Messages that wait for their turn, and what has not reached the environment. */
  queued: string[];
  unsent: string[];
  status: string;
  isLost: boolean;
};

const mostQueued = 3;
const mostEditor = 8;

/** The rows below the conversation, all narrower than the terminal and together less high. */
export function layBelow(below: Below, editor: LineEditor, screen: { columns: number; rows: number }): Laid {
  const width = screen.columns - 1;
  const room = screen.rows - 1;
  const typed = editor.lay(
    below.confirm !== null || below.asked !== null ? "answer › " : "› ",
    screen.columns,
    Math.min(mostEditor, Math.max(1, room - 2)),
  );
  const status = style(below.isLost ? "yellow" : "dim", cut(oneLine(below.status), width));
  const besides = [...askedRows(below, width), ...queuedRows(below, width)].slice(0, Math.max(0, room - typed.rows.length - 1));
  const left = room - typed.rows.length - 1 - besides.length;
  const partial = left > 0 ? rowsOf(below.partial, width).slice(-left) : [];
  const above = [...partial, ...besides, status];
  return { rows: [...above, ...typed.rows], cursor: { row: above.length + typed.cursor.row, column: typed.cursor.column } };
}

function askedRows({ asked, moreAsked, confirm }: Below, width: number): string[] {
  if (confirm !== null) return [style(["bold", "yellow"], cut(oneLine(confirm), width))];
  if (asked === null) return [];
  const more = moreAsked > 0 ? ` (and ${counted(moreAsked, "more request")})` : "";
  const choices = asked.choices.length === 0 ? "type the answer" : choiceWords(asked) + (asked.isApproval ? "" : ", or other words");
  return [
    style(["bold", "yellow"], cut(`? asks${more}: ${asked.text}`, width)),
    ...rowsOf(`  ${choices}; then Enter`, width).map((row) => style("yellow", row)),
  ];
}

function queuedRows({ queued, unsent }: Below, width: number): string[] {
  const rows = [...queued.map((text) => `waits its turn: ${text}`), ...unsent.map((text) => `not sent yet: ${text}`)];
  const shown = rows.slice(0, mostQueued).map((row) => style("dim", cut(oneLine(row), width)));
  return rows.length > mostQueued ? [...shown, style("dim", cut(`and ${rows.length - mostQueued} more`, width))] : shown;
}

const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" });
/** More than any terminal shows at once of one line. */
const mostOfALine = 20_000;

/** A line broken into rows of so many columns. */
function rowsOf(text: string, width: number): string[] {
  const shown = clean(text.slice(-mostOfALine)).replaceAll("\t", " ");
  if (shown === "") return [];
  const rows = [""];
  let used = 0;
  for (const { segment } of segmenter.segment(shown)) {
    const wide = widthOf(segment);
    if (used + wide > width) {
      rows.push("");
      used = 0;
    }
    rows[rows.length - 1] += segment;
    used += wide;
  }
  return rows;
}
