import type { CheckpointId, ThreadId } from "../../schemas/ids.ts";
import { addItem, type PlanContext } from "./plan.ts";
import { pointAt } from "./source-point.ts";

export type GivenMessage = { role: "user" | "assistant"; text: string; createdAt?: number | undefined };

/**
 * A history that was not had here: messages before any run, a checkpoint of ordinal 0, and the transfer by which the first
 * run is told of it (decision 25).
 */
export function keepHistory(context: PlanContext, threadId: ThreadId, checkpointId: CheckpointId, messages: readonly GivenMessage[]): void {
  for (const message of messages)
    addItem(context, {
      threadId,
      runId: null,
      runOrdinal: 0,
      ...(message.createdAt === undefined ? {} : { createdAt: message.createdAt }),
      body: { kind: message.role === "user" ? "user_message" : "assistant_message", content: { text: message.text } },
    });
  context.overlay.putCheckpoint({ id: checkpointId, threadId, runId: null, ordinal: 0, workspaceRef: null, createdAt: context.uow.now });
  const transferId = context.uow.ids.next("transfer");
  context.uow.create(transferId, {
    type: "transfer.created",
    input: {
      id: transferId,
      type: "provider_handoff",
      sourceThreadId: threadId,
      targetThreadId: threadId,
      sourcePoint: pointAt({ threadId, runId: null, ordinal: 0, checkpointId }),
      basePoint: null,
      sourceProvider: null,
      targetProvider: null,
      supersedes: null,
      createdBy: "system",
      taskId: null,
      content: null,
      outcome: null,
    },
  });
}
