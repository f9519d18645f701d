import type { z } from "zod";
import { Caller, PublicCommand, type Receipt } from "../../schemas/command.ts";
import { CommandId } from "../../schemas/ids.ts";
import { refusal } from "../../schemas/refusal.ts";
import { accessRefusal, commandAccess } from "./command-access.ts";
import type { Dispatcher } from "./dispatcher.ts";
import type { DispatchOptions } from "./environment-api.ts";
import { type FactFinder, factsFor } from "./facts.ts";
import type { Identifiers } from "./ports/identifiers.ts";
import type { Store } from "./ports/store.ts";

/**
 * Where commands of people, agents and programs come in: checked, then given the facts about the outside that deciding
 * them needs, then dispatched. Whatever is wrong with them is an answer, never an exception.
 */
export class Door {
  readonly #store: Store;
  readonly #dispatcher: Dispatcher;
  readonly #ids: Identifiers;
  readonly #facts: FactFinder;

  constructor(options: { store: Store; dispatcher: Dispatcher; ids: Identifiers; facts: FactFinder }) {
    this.#store = options.store;
    this.#dispatcher = options.dispatcher;
    this.#ids = options.ids;
    this.#facts = options.facts;
  }

  async dispatch(input: unknown, options: DispatchOptions = {}): Promise<Receipt> {
    const id = options.id === undefined ? this.#ids.next("cmd") : CommandId.safeParse(options.id).data;
    if (id === undefined) return refuse(this.#ids.next("cmd"), "a command id looks like cmd:<uuid>");
    const command = PublicCommand.safeParse(input);
    if (!command.success) return refuse(id, issuesOf(command.error), overLimit(command.error));
    const caller = Caller.safeParse(options.caller ?? { kind: "user" });
    if (!caller.success) return refuse(id, issuesOf(caller.error));
    const denied = accessRefusal(caller.data, commandAccess[command.data.type]);
    if (denied !== null) return { ok: false, commandId: id, refusal: denied, repeated: false };
    const facts = await factsFor(command.data, this.#store, this.#facts);
    return this.#dispatcher.dispatch(command.data, { id, caller: caller.data, facts });
  }
}

function refuse(commandId: CommandId, message: string, reason = "malformed"): Receipt {
  const hint =
    reason === "limit_exceeded"
      ? "Make it shorter; the limits are in the reference of commands."
      : "Correct the named members; the reference of commands has their shapes.";
  return { ok: false, commandId, refusal: refusal("invalid_request", reason, message, hint), repeated: false };
}

function issuesOf(error: z.ZodError): string {
  return error.issues
    .slice(0, 3)
    .map((i) => `${i.path.join(".") || "command"}: ${i.message}`)
    .join("; ");
}

/** A limit of the contract is named as one. */
function overLimit(error: z.ZodError): string {
  return error.issues.some((i) => i.code === "too_big") ? "limit_exceeded" : "malformed";
}
