import type { TransferId } from "../../../schemas/ids.ts";
import type { Move, MovedMessage, MoveOffer } from "../../../schemas/move.ts";
import type { Run } from "../../../schemas/run.ts";
import type { AppThread } from "../../../schemas/thread.ts";
import type { ContextTransfer } from "../../../schemas/transfer.ts";
import { readText } from "../content.ts";
import { conversationOf } from "../conversation.ts";
import { historyOf } from "../history.ts";
import { mergedUpTo } from "../merges.ts";
import type { PlanContext } from "../plan.ts";
import { openTransfersTo, runFrom, taskFrom, threadFrom } from "../typed-actors.ts";

/** All of a quiet thread that goes with it, and the open transfers that are told by it. */
export function offerOf(context: PlanContext, move: Move, thread: AppThread): { offer: MoveOffer; carried: TransferId[] } {
  const { overlay } = context;
  const open = openTransfersTo(overlay, thread.id, true);
  const waiting = thread.queue.flatMap((id) => runFrom(overlay, id) ?? []);
  return {
    offer: {
      moveId: move.id,
      sourceThreadId: thread.id,
      title: thread.title,
      modes: thread.modes,
      provider: move.provider,
      repository: overlay.project(thread.projectId)?.repository ?? null,
      messages: [...conversationOf(overlay, historyOf(overlay, thread.id)), ...open.flatMap((transfer) => told(context, transfer))],
      queued: waiting.map((run) => ({ text: messageOf(context, run), provider: run.requested, modes: run.modes })),
      continuationPrompt: move.continuationPrompt,
      code: null,
    },
    carried: open.map((transfer) => transfer.id),
  };
}

function messageOf({ overlay }: PlanContext, run: Run): string {
  const body = overlay.item(run.messageItemId)?.body;
  return body?.kind === "user_message" ? readText(overlay, body.content) : "";
}

/**
 * What a transfer that waits would have told the next run. What the thread inherits, and what was said in it, the
 * conversation tells already.
 */
function told(context: PlanContext, transfer: ContextTransfer): MovedMessage[] {
  if (transfer.type === "subagent_result") return [{ role: "user", text: resultText(context, transfer), createdAt: transfer.createdAt }];
  if (transfer.type !== "merge_back") return [];
  const { overlay } = context;
  const fork = threadFrom(overlay, transfer.sourceThreadId);
  const base = mergedUpTo(overlay, transfer.sourceThreadId, transfer.targetThreadId) ?? transfer.basePoint;
  const fromOrdinal = base !== null && base.threadId === transfer.sourceThreadId ? (base.ordinal ?? 0) + 1 : 1;
  const segment = { threadId: transfer.sourceThreadId, fromOrdinal, toOrdinal: transfer.sourcePoint.ordinal ?? 0, inherited: false };
  const said = conversationOf(overlay, [segment]).map(({ role, text }) => `${role === "user" ? "User" : "Assistant"}:\n${text}`);
  const name = fork === null || fork.title === "" ? "A fork of this conversation" : `The fork "${fork.title}" of this conversation`;
  const text = [`${name} was merged back. This happened there:`, ...said].join("\n\n");
  return [{ role: "user", text, createdAt: transfer.createdAt }];
}

/** A subagent's result as text, with how it ended. */
export function resultText({ overlay }: Pick<PlanContext, "overlay">, transfer: ContextTransfer): string {
  const title = (transfer.taskId === null ? null : taskFrom(overlay, transfer.taskId))?.title ?? "task";
  const why = transfer.outcome?.error == null ? "" : ` ${transfer.outcome.error.message}`;
  const head = `Result of the task "${title}": ${transfer.outcome?.ending ?? "interrupted"}.${why}`;
  const text = transfer.content === null ? "" : readText(overlay, transfer.content);
  return text === "" ? `${head} It gave no text.` : `${head}\n\n${text}`;
}
