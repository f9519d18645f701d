import { columns, cut, oneLine, styleError } from "./terminal.ts";

const width = 24;

/** How far something is that is done in many steps, on one line of a terminal; nothing where standard error is no terminal. */
export class ProgressBar {
  readonly #total: number;
  readonly #isShown = process.stderr.isTTY === true;
  #done = 0;

  constructor(total: number) {
    this.#total = total;
  }

  /** Before a step: what it is about. */
  show(text: string): void {
    if (!this.#isShown) return;
    const full = this.#total === 0 ? width : Math.floor((this.#done / this.#total) * width);
    const bar = `${"█".repeat(full)}${"░".repeat(width - full)} ${this.#done}/${this.#total} `;
    const room = Math.max(0, Math.min(columns(), process.stderr.columns || 80) - bar.length - 1);
    process.stderr.write(`\r\u001b[K${styleError("dim", bar)}${cut(oneLine(text), room)}`);
  }

  step(): void {
    this.#done += 1;
  }

  /** Takes its line away, for what is written there next. */
  hide(): void {
    if (this.#isShown) process.stderr.write("\r\u001b[K");
  }
}
