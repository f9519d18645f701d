import type { Command } from "commander";
import { v7 } from "uuid";
import type { CommandId } from "../../schemas/ids.ts";
import { badInput } from "./failure.ts";
import { environmentFolder } from "./folder.ts";
import { styleError } from "./terminal.ts";

/** Options that stand before or after any command. */
export type GlobalOptions = { dir?: string; json?: boolean; start?: boolean; requestId?: string };

/** What every command is given: where, how to answer, and what it may do. */
export class Shell {
  readonly dir: string;
  readonly json: boolean;
  /** Whether an environment may be started for this command. */
  readonly mayStart: boolean;
  readonly #requestId: string | null;

  constructor(options: GlobalOptions) {
    this.dir = environmentFolder(options.dir);
    this.json = options.json === true;
    this.mayStart = options.start !== false;
    this.#requestId = options.requestId ?? null;
  }

  static of(command: Command): Shell {
    return new Shell(command.optsWithGlobals<GlobalOptions>());
  }

  /** The answer: one JSON document, or words. */
  answer(document: object, words: () => string): void {
    if (this.json) process.stdout.write(`${JSON.stringify({ ok: true, ...document })}\n`);
    else this.print(words());
  }

  print(text: string): void {
    process.stdout.write(text.endsWith("\n") || text === "" ? text : `${text}\n`);
  }

  /** Said beside the answer, on standard error. */
  note(text: string): void {
    process.stderr.write(`${styleError("dim", text)}\n`);
  }

  /** The id of a command: a fresh one, or the one that makes repeating this call safe. `part` tells several commands of one call apart. */
  commandId(part = ""): CommandId {
    if (this.#requestId === null) return `cmd:${v7()}` as CommandId;
    if (!/^[\x21-\x7e]{1,250}$/.test(this.#requestId))
      throw badInput(
        "request_id",
        `"${this.#requestId}" cannot be a request id`,
        "Use up to 250 printable ASCII characters without spaces.",
      );
    return `cmd:cli:${this.#requestId}${part === "" ? "" : `:${part}`}` as CommandId;
  }
}
