import { styleText } from "node:util";

type Format = Parameters<typeof styleText>[0];

/** Colour only on a terminal that wants it (NO_COLOR, FORCE_COLOR and TERM are heeded). */
export const style = (format: Format, text: string): string => styleText(format, text, { stream: process.stdout });
export const styleError = (format: Format, text: string): string => styleText(format, text, { stream: process.stderr });

export const isTerminal = (): boolean => process.stdout.isTTY === true;

/** Columns of the terminal; no bound when the output goes to a file or a pipe. */
export function columns(): number {
  if (!isTerminal()) return Number.POSITIVE_INFINITY;
  return Math.max(20, process.stdout.columns || Number(process.env.COLUMNS) || 80);
}

/**
 * Text of agents and of other environments, made safe to show: a control sequence in it would be carried out by the
 * terminal, and a direction mark could show a command other than it is.
 */
export function clean(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is taken out
  return text.replace(/\r\n?/g, "\n").replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, "");
}

/** The same on one line. */
export const oneLine = (text: string): string => clean(text).replace(/\s+/g, " ").trim();

const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;
let segmenter: Intl.Segmenter | null = null;
/** What a reader takes for one character each. The tables for it are loaded only where a text needs them. */
function graphemes(text: string): Iterable<{ segment: string }> {
  segmenter ??= new Intl.Segmenter(undefined, { granularity: "grapheme" });
  return segmenter.segment(text);
}
// biome-ignore lint/suspicious/noControlCharactersInRegex: colours are control sequences
const colours = /\u001b\[[0-9;]*m/g;

/** Columns that a text takes on a terminal; colours take none, ideographs and emoji two. */
export function widthOf(text: string): number {
  const bare = text.replace(colours, "");
  if (/^[\x20-\x7e]*$/.test(bare)) return bare.length;
  let width = 0;
  for (const { segment } of graphemes(bare)) width += wide.test(segment) ? 2 : 1;
  return width;
}

/** The text within so many columns, its cut marked. Without colours. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let shown = "";
  let used = 0;
  for (const { segment } of graphemes(text)) {
    used += wide.test(segment) ? 2 : 1;
    if (used > width - 1) break;
    shown += segment;
  }
  return `${shown}…`;
}
