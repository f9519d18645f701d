import { clean, widthOf } from "../terminal.ts";
import type { Key } from "./keys.ts";

/** Where the cursor stands, from the first row and column on (0). */
type Cursor = { row: number; column: number };
export type Laid = { rows: string[]; cursor: Cursor };

const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" });
const charactersOf = (text: string): string[] => Array.from(segmenter.segment(text), ({ segment }) => segment);
const isWord = (character: string | undefined): boolean => character !== undefined && /[\p{L}\p{N}_]/u.test(character);
const maxHistory = 200;

/**
 * The text that is being typed: what a reader takes for one character is one, however many code units it has; may have
 * several lines; with the history of what was sent. Knows nothing of the screen but how wide it is.
 */
export class LineEditor {
  #characters: string[] = [];
  #at = 0;
  #history: string[] = [];
  /** Place in the history; its length is the line that is being typed, kept in `#draft` meanwhile. */
  #place = 0;
  #draft = "";
  #cut = "";

  get text(): string {
    return this.#characters.join("");
  }

  set text(text: string) {
    this.#characters = charactersOf(text);
    this.#at = this.#characters.length;
  }

  get isEmpty(): boolean {
    return this.#characters.length === 0;
  }

  /** Takes the text away, and remembers it. */
  take(): string {
    const { text } = this;
    this.remember(text);
    this.text = "";
    return text;
  }

  /** Something that up and down find. */
  remember(text: string): void {
    if (text.trim() !== "" && this.#history.at(-1) !== text) this.#history = [...this.#history, text].slice(-maxHistory);
    this.#place = this.#history.length;
  }

  /** Whether the key meant something here. */
  press(key: Key): boolean {
    if (key.type === "text") {
      this.#insert(key.text);
      return true;
    }
    const act = this.#acts[key.name];
    act?.();
    return act !== undefined;
  }

  /**
   * The rows of it in so many columns, behind a prompt; of more than `most` rows those around the cursor. The last column stays
   * free, so that a terminal never breaks a row itself.
   */
  lay(prompt: string, columns: number, most: number): Laid {
    const indent = " ".repeat(widthOf(prompt));
    const room = Math.max(2, columns - 1);
    const rows: string[] = [prompt];
    let cursor: Cursor = { row: 0, column: widthOf(prompt) };
    let used = widthOf(prompt);
    const breakRow = () => {
      rows.push(indent);
      used = indent.length;
    };
    for (const [place, character] of [...this.#characters, ""].entries()) {
      const shown = character === "\n" ? "" : clean(character).replace("\t", " ");
      if (used + widthOf(shown) > room) breakRow();
      if (place === this.#at) cursor = { row: rows.length - 1, column: used };
      if (character === "\n") breakRow();
      rows[rows.length - 1] += shown;
      used += widthOf(shown);
    }
    const first = Math.max(0, Math.min(cursor.row - Math.floor(most / 2), rows.length - most));
    return { rows: rows.slice(first, first + most), cursor: { row: cursor.row - first, column: cursor.column } };
  }

  #insert(text: string): void {
    const before = this.#characters.slice(0, this.#at).join("") + text;
    const after = this.#characters.slice(this.#at).join("");
    // Together: what is typed may join with what stands before it (accents, families of emoji).
    this.#at = charactersOf(before).length;
    this.#characters = [...charactersOf(before), ...charactersOf(after)];
  }

  #remove(from: number, to: number): string {
    const [start, end] = [Math.max(0, Math.min(from, to)), Math.min(this.#characters.length, Math.max(from, to))];
    const removed = this.#characters.splice(start, end - start).join("");
    this.#at = start;
    return removed;
  }

  #move(to: number): void {
    this.#at = Math.max(0, Math.min(this.#characters.length, to));
  }

  get #lineStart(): number {
    return this.#at === 0 ? 0 : this.#characters.lastIndexOf("\n", this.#at - 1) + 1;
  }

  get #lineEnd(): number {
    const end = this.#characters.indexOf("\n", this.#at);
    return end === -1 ? this.#characters.length : end;
  }

  #word(step: -1 | 1): number {
    let place = this.#at;
    const next = () => this.#characters[step === 1 ? place : place - 1];
    while (next() !== undefined && !isWord(next())) place += step;
    while (isWord(next())) place += step;
    return place;
  }

  /** To the line above or below; beyond the first and the last one, to what was sent before and after. */
  #vertical(step: -1 | 1): void {
    const column = this.#at - this.#lineStart;
    if (step === -1 && this.#lineStart > 0) {
      this.#move(this.#lineStart - 1);
      this.#move(Math.min(this.#at, this.#lineStart + column));
    } else if (step === 1 && this.#lineEnd < this.#characters.length) {
      this.#move(this.#lineEnd + 1);
      this.#move(Math.min(this.#lineEnd, this.#at + column));
    } else this.#recall(step);
  }

  #recall(step: -1 | 1): void {
    const to = this.#place + step;
    if (to < 0 || to > this.#history.length) return;
    if (this.#place === this.#history.length) this.#draft = this.text;
    this.#place = to;
    this.text = this.#history[to] ?? this.#draft;
  }

  readonly #acts: Record<string, () => void> = {
    left: () => this.#move(this.#at - 1),
    right: () => this.#move(this.#at + 1),
    "ctrl-b": () => this.#move(this.#at - 1),
    "ctrl-f": () => this.#move(this.#at + 1),
    home: () => this.#move(this.#lineStart),
    end: () => this.#move(this.#lineEnd),
    "ctrl-a": () => this.#move(this.#lineStart),
    "ctrl-e": () => this.#move(this.#lineEnd),
    up: () => this.#vertical(-1),
    down: () => this.#vertical(1),
    "ctrl-p": () => this.#vertical(-1),
    "ctrl-n": () => this.#vertical(1),
    "ctrl-left": () => this.#move(this.#word(-1)),
    "ctrl-right": () => this.#move(this.#word(1)),
    "meta-b": () => this.#move(this.#word(-1)),
    "meta-f": () => this.#move(this.#word(1)),
    backspace: () => void this.#remove(this.#at - 1, this.#at),
    delete: () => void this.#remove(this.#at, this.#at + 1),
    "ctrl-d": () => void this.#remove(this.#at, this.#at + 1),
    "ctrl-w": () => this.#keep(this.#remove(this.#word(-1), this.#at)),
    "meta-backspace": () => this.#keep(this.#remove(this.#word(-1), this.#at)),
    "meta-d": () => this.#keep(this.#remove(this.#at, this.#word(1))),
    "ctrl-u": () => this.#keep(this.#remove(this.#lineStart, this.#at)),
    "ctrl-k": () => this.#keep(this.#remove(this.#at, this.#lineEnd)),
    "ctrl-y": () => this.#insert(this.#cut),
    "meta-return": () => this.#insert("\n"),
    enter: () => this.#insert("\n"),
  };

  #keep(cut: string): void {
    if (cut !== "") this.#cut = cut;
  }
}
