import { z } from "zod";
import { AttemptId, CheckpointId, EnvironmentId, HandoffId, ItemId, RunId, TaskId, ThreadId, TransferId } from "./ids.ts";
import { Content } from "./item.ts";
import { NativeRef, ProviderInstanceId } from "./provider.ts";
import { Refusal } from "./refusal.ts";
import { Timestamp } from "./text.ts";

export const ThreadRelationshipKind = z.enum(["fork", "provider_handoff", "merge_back", "subagent_spawn", "subagent_result"]);
export type ThreadRelationshipKind = z.infer<typeof ThreadRelationshipKind>;

export const TransferStatus = z.enum(["pending", "resolved_native", "resolved_portable", "failed", "consumed", "superseded"]);
export type TransferStatus = z.infer<typeof TransferStatus>;

/** A point of a conversation, as exactly as it is known (contract §2). */
export const ContextSourcePoint = z.object({
  threadId: ThreadId,
  /** Set when the thread lives in another environment. */
  environmentId: EnvironmentId.nullable(),
  runId: RunId.nullable(),
  /** Run ordinal of `runId`; 0 is an import's history. */
  ordinal: z.number().int().nonnegative().nullable(),
  checkpointId: CheckpointId.nullable(),
  turnItemId: ItemId.nullable(),
  providerThreadRef: NativeRef.nullable(),
  providerTurnRef: NativeRef.nullable(),
  /** How the point was named by whoever chose it; only a checkpoint named as such is retold as one (decision 31). */
  givenAs: z.enum(["latest_stable", "run", "checkpoint", "provider_thread"]).nullable(),
});
export type ContextSourcePoint = z.infer<typeof ContextSourcePoint>;

export const ContextTransferResolution = z.discriminatedUnion("kind", [
  /**
   * Exact: the provider itself brings it, by a fork of its conversation. `inPlace`: no fork is made, the conversation itself
   * is taken back to its turn `lastTurnRef` (decision 0115).
   */
  z.object({
    kind: z.literal("native_fork"),
    providerThreadRef: NativeRef,
    inPlace: z.boolean().optional(),
    lastTurnRef: NativeRef.nullable().optional(),
  }),
  z.object({ kind: z.literal("portable_context"), contextHandoffId: HandoffId }),
  z.object({ kind: z.literal("delta_context"), contextHandoffId: HandoffId }),
  z.object({ kind: z.literal("checkpoint_context"), contextHandoffId: HandoffId }),
]);
export type ContextTransferResolution = z.infer<typeof ContextTransferResolution>;

/** Which run is working on (or has worked on) a transfer. A late answer of an older claim changes nothing. */
export const TransferClaim = z.object({ runId: RunId, attemptId: AttemptId });
export type TransferClaim = z.infer<typeof TransferClaim>;

/** How a child ended, in the task's words; never `completed` for a failure (case S04). */
export const ResultOutcome = z.object({ ending: z.enum(["completed", "failed", "cancelled", "interrupted"]), error: Refusal.nullable() });
export type ResultOutcome = z.infer<typeof ResultOutcome>;

/** The durable record that joins source and target; the context of the transfer machine, its status is the machine's state. */
export const TransferContext = z.object({
  id: TransferId,
  type: ThreadRelationshipKind,
  sourceThreadId: ThreadId,
  targetThreadId: ThreadId,
  sourcePoint: ContextSourcePoint,
  basePoint: ContextSourcePoint.nullable(),
  sourceProvider: ProviderInstanceId.nullable(),
  targetProvider: ProviderInstanceId.nullable(),
  resolution: ContextTransferResolution.nullable(),
  error: Refusal.nullable(),
  supersedes: TransferId.nullable(),
  supersededBy: TransferId.nullable(),
  createdBy: z.enum(["user", "agent", "system"]),
  createdAt: Timestamp,
  consumedAt: Timestamp.nullable(),
  consumedByRunId: RunId.nullable(),
  claim: TransferClaim.nullable(),
  /** The task that a spawn or a result belongs to. */
  taskId: TaskId.nullable(),
  /** What is to be told where it does not follow from the source point: a task's words, a result's text. */
  content: Content.nullable(),
  /** How the child's run ended; only on a `subagent_result`. */
  outcome: ResultOutcome.nullable(),
});
export type TransferContext = z.infer<typeof TransferContext>;

/** What is known when a transfer is made. */
export const TransferInput = TransferContext.omit({
  resolution: true,
  error: true,
  supersededBy: true,
  consumedAt: true,
  consumedByRunId: true,
  claim: true,
  createdAt: true,
});
export type TransferInput = z.infer<typeof TransferInput>;

/** A transfer as clients see it: the contract's fields and its status. */
export const ContextTransfer = TransferContext.extend({ status: TransferStatus });
export type ContextTransfer = z.infer<typeof ContextTransfer>;
