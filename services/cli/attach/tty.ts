import type { ReadStream } from "node:tty";

const pasteMarksOn = "\u001b[?2004h";
const pasteMarksOff = "\u001b[?2004l";

/** A terminal that tells each key as it is pressed, and marks what is pasted; given back as it was. */
export class RawTerminal {
  readonly #input: ReadStream;
  readonly #output: NodeJS.WriteStream;
  readonly #atExit = () => this.leave();

  constructor(input: ReadStream, output: NodeJS.WriteStream) {
    this.#input = input;
    this.#output = output;
  }

  enter(): void {
    this.#input.setRawMode(true);
    this.#output.write(pasteMarksOn);
    this.#input.resume();
    // Whatever ends the process: a shell must not be left with keys that are not shown.
    process.once("exit", this.#atExit);
  }

  leave(): void {
    process.off("exit", this.#atExit);
    this.#input.pause();
    if (this.#output.writable) this.#output.write(pasteMarksOff);
    try {
      this.#input.setRawMode(false);
    } catch {
      // The terminal is gone.
    }
  }

  /** Gives the shell its turn, as Ctrl-Z does elsewhere, until it brings us back. */
  async suspend(): Promise<void> {
    this.leave();
    const back = new Promise((resolve) => process.once("SIGCONT", resolve));
    process.kill(process.pid, "SIGTSTP");
    await back;
    this.enter();
  }
}
