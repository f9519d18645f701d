import type { TurnInput } from "../contract.ts";
import type { UserMessage } from "./protocol.ts";

/** What it is told stands before the message, each in a block of its own, so that nothing in it is taken for a command or a file. */
export function messageOf({ attemptId, context, message }: TurnInput): UserMessage {
  const content = [...context, message].map((text) => ({ type: "text" as const, text }));
  return { type: "user", uuid: inputIdOf(attemptId), message: { role: "user", content }, parent_tool_use_id: null };
}

/** The uuid of an attempt, which the session keeps as the message's own. */
export function inputIdOf(attemptId: string): string {
  return attemptId.slice(attemptId.indexOf(":") + 1);
}
