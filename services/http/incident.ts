import { randomUUID } from "node:crypto";
import { type Refusal, refusal } from "../../schemas/refusal.ts";

/** A fault of ours in a request: the answer holds only its id, which the message begins with. */
export class Incident extends Error {
  override readonly name = "Incident";
  readonly id = `incident:${randomUUID()}`;
  constructor(request: Request, cause: unknown) {
    const { message, stack } = cause instanceof Error ? cause : { message: String(cause), stack: undefined };
    super("", { cause });
    this.message = `${this.id}, ${request.method} ${new URL(request.url).pathname}: ${message}`;
    if (stack !== undefined) this.stack = `${this.message}\n${stack}`;
  }

  get refusal(): Refusal {
    return refusal(
      "orchestration_error",
      "internal",
      "the environment could not answer this request",
      "Look for the incident in the environment's log, and report it with the output of ropewalk doctor.",
      { incident: this.id },
    );
  }
}

/** The fault that a refusal of the runtime stands for, or null where it is a refusal and no fault. */
export function faultIn({ message, details }: Refusal): Error | null {
  if (details === undefined || !("stack" in details)) return null;
  const fault = new Error(message);
  if (typeof details.stack === "string") fault.stack = details.stack;
  return fault;
}
