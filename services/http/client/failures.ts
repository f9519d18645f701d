import type { Refusal } from "../../../schemas/refusal.ts";

/** Nobody listens there, or who does has stopped answering. */
export class EnvironmentUnreachable extends Error {
  override readonly name = "EnvironmentUnreachable";
  /** The folder or the address. */
  readonly where: string;
  constructor(where: string, message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.where = where;
  }
}

/** The environment answered, and said no. */
export class EnvironmentRefused extends Error {
  override readonly name = "EnvironmentRefused";
  readonly refusal: Refusal;
  constructor(refusal: Refusal) {
    super(refusal.message);
    this.refusal = refusal;
  }
}
