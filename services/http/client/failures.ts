import type { Refusal } from "../../../schemas/refusal.ts";

/** Nobody listens for this folder, or who does has stopped answering. */
export class EnvironmentUnreachable extends Error {
  override readonly name = "EnvironmentUnreachable";
  readonly dir: string;
  constructor(dir: string, message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.dir = dir;
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
