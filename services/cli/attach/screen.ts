import { widthOf } from "../terminal.ts";
import type { Laid } from "./line-editor.ts";

/** What a screen writes to: a terminal, or in tests what stands for one. */
export type Output = { columns?: number; rows?: number; write(text: string): unknown };

const hideCursor = "\u001b[?25l";
const showCursor = "\u001b[?25h";
const eraseBelow = "\u001b[J";

/**
 * The terminal in two parts: above, lines that are told once and belong to the terminal from then on (it scrolls, searches and
 * copies them as any others); below, a few rows that are drawn anew whenever they change. There is no other place
 * where the terminal's cursor is moved, so the one never tears the other.
 */
export class Screen {
  readonly #out: Output;
  #below: Laid = { rows: [], cursor: { row: 0, column: 0 } };
  #drawn = "";

  constructor(out: Output) {
    this.#out = out;
  }

  get columns(): number {
    return Math.max(8, this.#out.columns || 80);
  }

  get rows(): number {
    return Math.max(4, this.#out.rows || 24);
  }

  /** Tells lines for good, and draws what stands below them. Each row of `below` has to be narrower than the terminal. */
  draw(lines: readonly string[], below: Laid): void {
    const { cursor, rows } = below;
    const drawn = JSON.stringify([below, this.columns]);
    if (lines.length === 0 && drawn === this.#drawn) return;
    const up = rows.length - 1 - cursor.row;
    this.#out.write(
      [
        hideCursor,
        this.#toTop(),
        ...lines.map((line) => `${line}\n`),
        rows.join("\n"),
        up > 0 ? `\u001b[${up}A` : "",
        `\r${cursor.column > 0 ? `\u001b[${cursor.column}C` : ""}`,
        showCursor,
      ].join(""),
    );
    this.#below = below;
    this.#drawn = drawn;
  }

  /** Takes away what stands below, so that whatever comes next is written there. */
  clear(): void {
    this.#out.write(this.#toTop());
    this.#below = { rows: [], cursor: { row: 0, column: 0 } };
    this.#drawn = "";
  }

  /** Empties the terminal's window; what was told is still above it. */
  wipe(): void {
    this.clear();
    this.#out.write("\u001b[H\u001b[2J");
  }

  /** To the first row of what stands below, which is erased. A terminal that has become narrower has broken its rows anew. */
  #toTop(): string {
    const { rows, cursor } = this.#below;
    const height = (width: number) => Math.max(1, Math.ceil(width / this.columns));
    const above = rows.slice(0, cursor.row).reduce((sum, row) => sum + height(widthOf(row)), 0) + Math.floor(cursor.column / this.columns);
    return `\r${above > 0 ? `\u001b[${above}A` : ""}${eraseBelow}`;
  }
}
