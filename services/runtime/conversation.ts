import type { TurnItem } from "../../schemas/item.ts";
import { readText } from "./content.ts";
import { type HistorySegment, isPartOfHistory } from "./history.ts";
import type { Overlay } from "./overlay.ts";
import { runsOf } from "./typed-actors.ts";

export type SaidMessage = { role: "user" | "assistant"; text: string; createdAt: number };

/** What people and the agent said in these stretches of history, oldest first; not what was taken back. */
export function conversationOf(overlay: Overlay, segments: readonly HistorySegment[]): SaidMessage[] {
  const messages: SaidMessage[] = [];
  for (const segment of segments) {
    const runs = runsOf(overlay, segment.threadId, { min: Math.max(segment.fromOrdinal, 1), max: segment.toOrdinal });
    const untold = new Set(runs.filter((run) => !isPartOfHistory(run, segment.asOf)).map((run) => run.ordinal));
    for (const item of overlay.store.items(segment)) {
      const message = untold.has(item.runOrdinal) ? null : asMessage(overlay, item);
      if (message !== null) messages.push(message);
    }
  }
  return messages;
}

function asMessage(overlay: Overlay, { body, createdAt }: TurnItem): SaidMessage | null {
  if (body.kind !== "user_message" && body.kind !== "assistant_message") return null;
  return { role: body.kind === "user_message" ? "user" : "assistant", text: readText(overlay, body.content), createdAt };
}
