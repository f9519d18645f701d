/**
 * Whether what the protocol's library reports is about a message that was none: its sender was told so, and it is no fault
 * of ours. Else anybody who may send could fill the environment's log.
 */
export function isSendersFault(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return error.name === "ZodError" || error instanceof SyntaxError || error.message.startsWith("Rejected inbound request");
}
