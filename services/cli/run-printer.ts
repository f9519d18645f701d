import type { TurnItem } from "../../schemas/item.ts";
import type { RunListener } from "./follow-run.ts";
import { activity, contentText } from "./item-text.ts";
import { clean, isTerminal } from "./terminal.ts";

/**
 * Prints a run as it goes: its messages on standard output, on a terminal as they are written; what it does besides
 * on standard error, only where a person looks on.
 */
export class RunPrinter implements RunListener {
  /** What of the unfinished message has been written already. */
  #shown = "";
  #isMidLine = false;
  readonly #note: (text: string) => void;

  constructor(note: (text: string) => void) {
    this.#note = note;
  }

  /** Whether a line of a message is unfinished: then nothing else may be written there. */
  get isMidLine(): boolean {
    return this.#isMidLine;
  }

  onProgress(text: string): void {
    if (isTerminal()) this.#continue(clean(text));
  }

  onItem({ body }: TurnItem): void {
    if (body.kind === "assistant_message") {
      this.#continue(contentText(body.content));
      this.#endLine();
      this.#shown = "";
      return;
    }
    const line = body.kind === "user_message" ? null : activity(body);
    if (line === null || !process.stderr.isTTY) return;
    this.#endLine();
    this.#note(`· ${line}`);
  }

  done(): void {
    this.#endLine();
  }

  /** Writes what of a message is new; all of it, on a line of its own, when it is another message than was begun. */
  #continue(whole: string): void {
    if (!whole.startsWith(this.#shown)) {
      this.#endLine();
      this.#shown = "";
    }
    const more = whole.slice(this.#shown.length);
    if (more === "") return;
    process.stdout.write(more);
    this.#shown = whole;
    this.#isMidLine = !more.endsWith("\n");
  }

  #endLine(): void {
    if (this.#isMidLine) process.stdout.write("\n");
    this.#isMidLine = false;
  }
}
