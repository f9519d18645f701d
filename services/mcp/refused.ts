import { type Refusal, type RefusalCode, refusal } from "../../schemas/refusal.ts";

/** Ends a tool or a resource read inside this folder; answered as a structured result, never thrown across the boundary. */
export class ToolRefused extends Error {
  override readonly name = "ToolRefused";
  readonly refusal: Refusal;
  constructor(what: Refusal) {
    super(what.message);
    this.refusal = what;
  }
}

export function refuse(code: RefusalCode, reason: string, message: string, hint: string, details?: Record<string, unknown>): never {
  throw new ToolRefused(refusal(code, reason, message, hint, details));
}

/** Any error as what a caller is told of it: never a stack trace, never the words of a fault of ours. */
export function toldOf(error: unknown): Refusal {
  if (error instanceof ToolRefused) return withoutStack(error.refusal);
  return refusal(
    "orchestration_error",
    "internal",
    "the environment could not answer this call",
    "Try again; a person can look into the environment's log.",
  );
}

function withoutStack(what: Refusal): Refusal {
  if (what.details === undefined) return what;
  const { stack: _, ...details } = what.details;
  return { ...what, details };
}
