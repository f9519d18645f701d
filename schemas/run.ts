import { z } from "zod";
import { AttemptId, CheckpointId, HandoffId, ItemId, ProviderThreadId, RunId, ThreadId, TransferId } from "./ids.ts";
import { Modes } from "./modes.ts";
import { Coverage, NativeRef, ProviderChoice, TurnName } from "./provider.ts";
import { Refusal } from "./refusal.ts";
import { Text, Timestamp } from "./text.ts";

export const RunStatus = z.enum([
  "queued",
  "preparing",
  /** Its thread's worktree is made (decision 0108). */
  "placing",
  "starting",
  "running",
  "waiting",
  "interrupting",
  "completed",
  "failed",
  "interrupted",
  "rolled_back",
]);
export type RunStatus = z.infer<typeof RunStatus>;
export const endedRunStatuses: readonly RunStatus[] = ["completed", "failed", "interrupted", "rolled_back"];
export const isEndedRun = (status: RunStatus): boolean => endedRunStatuses.includes(status);

export const RunEnding = z.enum(["completed", "failed", "interrupted"]);
export type RunEnding = z.infer<typeof RunEnding>;

/** One try at a run. A stale attempt's late events are ignored. */
export const Attempt = z.object({
  id: AttemptId,
  number: z.number().int().positive(),
  kind: z.enum(["initial", "restart", "retry", "recovery"]),
});
export type Attempt = z.infer<typeof Attempt>;

/** A native conversation is taken back in place before it is given the input (decision 0115). */
export const RewindPlan = z.object({
  /** The provider handoff that fails when the provider refuses. */
  transferId: TransferId,
  /** The last native turn that stays; what it served of later runs goes. */
  keep: TurnName,
  afterOrdinal: z.number().int().nonnegative(),
  /** What the conversation still knows then. */
  knows: Coverage,
});
export type RewindPlan = z.infer<typeof RewindPlan>;

/** How the native conversation is opened for an attempt. */
export const OpenPlan = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("new") }),
  z.object({
    kind: z.literal("resume"),
    providerThreadId: ProviderThreadId,
    nativeRef: NativeRef,
    rewind: RewindPlan.optional(),
  }),
  z.object({
    kind: z.literal("fork"),
    transferId: TransferId,
    nativeRef: NativeRef,
    turnRef: NativeRef,
    /** The last of the thread's own runs that the fork brings; absent where it is another thread's conversation. */
    upTo: z.number().int().positive().optional(),
  }),
]);
export type OpenPlan = z.infer<typeof OpenPlan>;

/** What an attempt starts with: decided by `resolveStartContext`, carried out by the provider host. */
export const StartPlan = z.object({
  provider: ProviderChoice,
  open: OpenPlan,
  /** Artefacts to tell before the message, oldest first. */
  handoffIds: z.array(HandoffId),
  /** Own runs that the native thread will know by being told, as ordinals. */
  tells: z.array(z.number().int().nonnegative()),
  /** True when a full handoff or native fork gives it everything before this thread's own runs. */
  tellsBase: z.boolean(),
  /** True when the provider may have been given this before (told at least once). */
  mayRepeat: z.boolean(),
});
export type StartPlan = z.infer<typeof StartPlan>;

export const OpenRequest = z.object({
  requestId: Text,
  itemId: ItemId,
  question: z.enum(["command", "file_change", "permission", "question"]),
});
export type OpenRequest = z.infer<typeof OpenRequest>;

/** One user-visible turn of a thread; context of the run machine. */
export const RunContext = z.object({
  id: RunId,
  threadId: ThreadId,
  ordinal: z.number().int().positive(),
  messageItemId: ItemId,
  /** What the message asked for; null means what the thread has when the message is delivered. */
  requested: ProviderChoice.nullable(),
  modes: Modes,
  createdBy: z.enum(["user", "agent", "system"]),
  createdAt: Timestamp,
  attempt: Attempt.nullable(),
  /** What serves it, decided at delivery. */
  provider: ProviderChoice.nullable(),
  plan: StartPlan.nullable(),
  transferIds: z.array(TransferId),
  providerThreadId: ProviderThreadId.nullable(),
  turnRef: NativeRef.nullable(),
  /** When the provider accepted the input; null means that it was told nothing. */
  acceptedAt: Timestamp.nullable(),
  openRequests: z.array(OpenRequest),
  interruptReason: z.string().nullable(),
  /** The last assistant message, which is what a parent is told of a child's run. */
  resultItemId: ItemId.nullable(),
  checkpointId: CheckpointId.nullable(),
  /** How it had ended before it was taken back. */
  takenBackFrom: RunEnding.optional(),
  takenBackAt: Timestamp.optional(),
  error: Refusal.nullable(),
  endedAt: Timestamp.nullable(),
});
export type RunContext = z.infer<typeof RunContext>;

export const RunInput = RunContext.pick({
  id: true,
  threadId: true,
  ordinal: true,
  messageItemId: true,
  requested: true,
  modes: true,
  createdBy: true,
});
export type RunInput = z.infer<typeof RunInput>;

export const Run = RunContext.extend({ status: RunStatus });
export type Run = z.infer<typeof Run>;
