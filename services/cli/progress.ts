import { styleError } from "./terminal.ts";
import { took } from "./time.ts";

const silentMs = 1_000;
const lineMs = 30_000;
const frameMs = 120;
const frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/** Tells on standard error what is being waited for, once it has taken longer than a second. */
export class Progress {
  #text: string;
  readonly #since = performance.now();
  #timer: NodeJS.Timeout;
  #frame = 0;
  #shown = false;
  #hidden = false;

  constructor(text: string) {
    this.#text = text;
    this.#timer = setTimeout(() => this.#tick(), silentMs);
    this.#timer.unref();
  }

  set text(text: string) {
    this.#text = text;
  }

  /** Takes its line away, for as long as something else is written there. */
  hide(): void {
    if (this.#shown && process.stderr.isTTY) process.stderr.write("\r\u001b[K");
    this.#shown = false;
    this.#hidden = true;
  }

  show(): void {
    this.#hidden = false;
  }

  done(): void {
    clearTimeout(this.#timer);
    this.hide();
  }

  #tick(): void {
    const terminal = process.stderr.isTTY === true;
    if (!this.#hidden) {
      const words = `${this.#text} (${took(performance.now() - this.#since)})`;
      if (terminal) {
        process.stderr.write(`\r\u001b[K${styleError("dim", `${frames[this.#frame++ % frames.length]} ${words}`)}`);
        this.#shown = true;
      } else process.stderr.write(`${words}\n`);
    }
    this.#timer = setTimeout(() => this.#tick(), terminal ? frameMs : lineMs);
    this.#timer.unref();
  }
}

/** Waits for something under a {@link Progress}. */
export async function during<T>(text: string, work: Promise<T>): Promise<T> {
  const progress = new Progress(text);
  try {
    return await work;
  } finally {
    progress.done();
  }
}
