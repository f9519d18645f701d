import { type Refusal, type RefusalCode, refusal } from "../../schemas/refusal.ts";

/** Ends a plan inside the runtime; the dispatcher turns it into a refused receipt. Never crosses the door. */
export class Refused extends Error {
  override readonly name = "Refused";
  readonly refusal: Refusal;
  constructor(what: Refusal) {
    super(what.message);
    this.refusal = what;
  }
}

/** Refuses the command that is being planned. */
export function refuse(code: RefusalCode, reason: string, message: string, hint: string, details?: Record<string, unknown>): never {
  throw new Refused(refusal(code, reason, message, hint, details));
}
