import { z } from "zod";
import { HandoffId, RunId, TaskId, ThreadId, TransferId } from "../../../schemas/ids.ts";
import { type ContextTransfer, ThreadRelationshipKind, TransferStatus } from "../../../schemas/transfer.ts";
import type { Environment } from "../../runtime/environment-api.ts";

export const TransferView = z.object({
  transferId: TransferId,
  type: ThreadRelationshipKind,
  status: TransferStatus,
  sourceThreadId: ThreadId,
  targetThreadId: ThreadId,
  /** Run of the source that it reaches up to, where it names one. */
  sourceRunId: RunId.nullable(),
  /** How it was resolved; `native_fork` hands nothing over as text. */
  resolution: z.enum(["native_fork", "portable_context", "delta_context", "checkpoint_context"]).nullable(),
  /** What was told, as the resource `ropewalk://handoff/<id>`. */
  handoffId: HandoffId.nullable(),
  /** Items that the handoff left out; the resource says which and why. */
  leftOut: z.number().int().nullable(),
  supersedes: TransferId.nullable(),
  consumedByRunId: RunId.nullable(),
  taskId: TaskId.nullable(),
  error: z.object({ code: z.string(), reason: z.string(), message: z.string() }).nullable(),
  createdBy: z.enum(["user", "agent", "system"]),
  createdAt: z.number(),
});
export type TransferView = z.infer<typeof TransferView>;

export function transferView(environment: Environment, transfer: ContextTransfer): TransferView {
  const { resolution, error } = transfer;
  const handoffId = resolution === null || resolution.kind === "native_fork" ? null : resolution.contextHandoffId;
  const handoff = handoffId === null ? null : environment.transfers.handoff(handoffId);
  return {
    transferId: transfer.id,
    type: transfer.type,
    status: transfer.status,
    sourceThreadId: transfer.sourceThreadId,
    targetThreadId: transfer.targetThreadId,
    sourceRunId: transfer.sourcePoint.runId,
    resolution: resolution?.kind ?? null,
    handoffId,
    leftOut: handoff?.leftOut.length ?? null,
    supersedes: transfer.supersedes,
    consumedByRunId: transfer.consumedByRunId,
    taskId: transfer.taskId,
    error: error === null ? null : { code: error.code, reason: error.reason, message: error.message },
    createdBy: transfer.createdBy,
    createdAt: transfer.createdAt,
  };
}
