import type { TurnItem } from "../../schemas/item.ts";
import type { RunListener } from "./follow-run.ts";
import { activity, contentText } from "./item-text.ts";
import { clean, isTerminal } from "./terminal.ts";

/**
 * Prints a run as it goes: its messages on standard output, on a terminal as they are written; what it does besides
 * on standard error, only where a person looks on.
 */
export class RunPrinter implements RunListener {
  /** What of the unfinished message stands on the screen. */
  #shown = "";
  readonly #print: (text: string) => void;
  readonly #note: (text: string) => void;

  constructor(print: (text: string) => void, note: (text: string) => void) {
    this.#print = print;
    this.#note = note;
  }

  onProgress(text: string): void {
    if (!isTerminal()) return;
    const whole = clean(text);
    if (!whole.startsWith(this.#shown)) this.#breakOff();
    process.stdout.write(whole.slice(this.#shown.length));
    this.#shown = whole;
  }

  onItem({ body }: TurnItem): void {
    if (body.kind === "assistant_message") {
      const text = contentText(body.content);
      if (!text.startsWith(this.#shown)) this.#breakOff();
      this.#print(text.slice(this.#shown.length) || "\n");
      this.#shown = "";
      return;
    }
    const line = body.kind === "user_message" ? null : activity(body);
    if (line === null || !process.stderr.isTTY) return;
    this.#breakOff();
    this.#note(`· ${line}`);
  }

  /** Ends a line that was not finished. */
  #breakOff(): void {
    if (this.#shown !== "") process.stdout.write("\n");
    this.#shown = "";
  }

  done(): void {
    this.#breakOff();
  }
}
