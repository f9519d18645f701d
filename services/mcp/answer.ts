import type { CallToolResult } from "@modelcontextprotocol/server";
import type { Refusal } from "../../schemas/refusal.ts";

/** An answer twice over: structured for programs, and the same as text for hosts that show a model only that. */
export function answered(structured: Record<string, unknown>): CallToolResult {
  return { content: [{ type: "text", text: JSON.stringify(structured) }], structuredContent: structured };
}

/** A refusal as an answer (contract §8): `{error: {code, reason, message, hint}}`. */
export function refusedAnswer({ code, reason, message, hint, details }: Refusal): CallToolResult {
  return { ...answered({ error: { code, reason, message, hint, ...(details !== undefined && { details }) } }), isError: true };
}
