import { Caller, PublicCommand, type Receipt } from "../../schemas/command.ts";
import { CommandId } from "../../schemas/ids.ts";
import { limits } from "../../schemas/limits.ts";
import { type Refusal, refusal } from "../../schemas/refusal.ts";
import { accessRefusal, commandAccess } from "./command-access.ts";
import { importedBy, whatIsWrong } from "./command-text.ts";
import { rememberDigest } from "./digest.ts";
import type { Dispatcher } from "./dispatcher.ts";
import type { DispatchOptions } from "./environment-api.ts";
import { type FactFinder, type Facts, factsFor } from "./facts.ts";
import { readCommand } from "./large-commands.ts";
import type { Identifiers } from "./ports/identifiers.ts";
import type { Store } from "./ports/store.ts";

export type DoorOptions = {
  store: Store;
  dispatcher: Dispatcher;
  ids: Identifiers;
  facts: FactFinder;
  /** Size of the largest text that is taken, in bytes of UTF-8; default 64 MiB. */
  maxBytes?: number;
};

/**
 * Where commands of people, agents and programs come in: checked, then given the facts about the outside that deciding
 * them needs, then dispatched. Whatever is wrong with them is an answer, never an exception.
 */
export class Door {
  readonly #o: DoorOptions;

  constructor(options: DoorOptions) {
    this.#o = options;
  }

  async dispatch(input: unknown, options: DispatchOptions = {}): Promise<Receipt> {
    const id = options.id === undefined ? this.#o.ids.next("cmd") : CommandId.safeParse(options.id).data;
    if (id === undefined) return malformed(this.#o.ids.next("cmd"), "malformed", "a command id looks like cmd:<uuid>");
    const command = PublicCommand.safeParse(input);
    if (!command.success) {
      const { reason, message } = whatIsWrong(command.error, "command");
      return malformed(id, reason, message);
    }
    return this.#take(command.data, id, options.caller);
  }

  /**
   * The same for a command as JSON text, `{"id": …, "command": …}`. One of more than `limits.workerBodyBytes` is read,
   * checked and digested off the main thread (decision 17).
   */
  async dispatchText(json: string | Uint8Array, options: Pick<DispatchOptions, "caller"> = {}): Promise<Receipt> {
    const bytes = typeof json === "string" ? Buffer.byteLength(json) : json.byteLength;
    const maxBytes = this.#o.maxBytes ?? limits.importRequestBytes;
    if (bytes > maxBytes)
      return malformed(this.#o.ids.next("cmd"), "limit_exceeded", `the command has ${bytes} bytes, importRequestBytes allows ${maxBytes}`);
    try {
      const read = await readCommand(json, bytes, limits.workerBodyBytes);
      const id = read.id ?? this.#o.ids.next("cmd");
      if (!read.ok) return malformed(id, read.reason, read.message);
      const large = importedBy(read.command);
      if (read.importDigest !== null && large !== null) rememberDigest(large, read.importDigest);
      return await this.#take(read.command, id, options.caller, read.digest);
    } catch (error) {
      return refused(this.#o.ids.next("cmd"), troubleReading(error));
    }
  }

  async #take(command: PublicCommand, id: CommandId, given: Caller | undefined, digest?: string): Promise<Receipt> {
    const caller = Caller.safeParse(given ?? { kind: "user" });
    if (!caller.success) return malformed(id, "malformed", whatIsWrong(caller.error, "caller").message);
    const denied = accessRefusal(caller.data, commandAccess[command.type]);
    if (denied !== null) return refused(id, denied);
    let facts: Facts;
    try {
      // A repeat is answered without another look at the outside.
      facts = this.#o.store.receipt(id) === null ? await factsFor(command, this.#o.store, this.#o.facts) : new Map();
    } catch (error) {
      return refused(id, troubleReading(error));
    }
    return this.#o.dispatcher.dispatch(command, { id, caller: caller.data, facts, ...(digest === undefined ? {} : { digest }) });
  }
}

const refused = (commandId: CommandId, what: Refusal): Receipt => ({ ok: false, commandId, refusal: what, repeated: false });

function malformed(commandId: CommandId, reason: string, message: string): Receipt {
  const hint =
    reason === "limit_exceeded"
      ? "Make it shorter; the limits are in the reference of commands."
      : "Correct the named members; the reference of commands has their shapes.";
  return refused(commandId, refusal("invalid_request", reason, message, hint));
}

const troubleReading = (error: unknown) =>
  refusal(
    "orchestration_error",
    "not_looked_up",
    error instanceof Error ? error.message : String(error),
    "Try again; see ropewalk doctor.",
  );
