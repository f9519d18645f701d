import { z } from "zod";
import { WorkspaceSnapshot } from "./checkpoint.ts";
import { ContextHandoff } from "./handoff.ts";
import { AttemptId, EffectId, EnvironmentId, IncarnationId, LinkId, MoveId, RequestId, RunId, ThreadId, TransferId } from "./ids.ts";
import { ItemBody } from "./item.ts";
import { LinkPosition, LinkPositions } from "./link.ts";
import { MovedCode } from "./move.ts";
import { NativeRef, ProviderChoice } from "./provider.ts";
import { Refusal } from "./refusal.ts";
import { OpenRequest, RunEnding, StartPlan } from "./run.ts";
import { Text, Title } from "./text.ts";
import { Workspace } from "./thread.ts";
import { ContextSourcePoint, ContextTransferResolution, TransferInput } from "./transfer.ts";
import { LinkBody } from "./wire.ts";

/** An item as the outside reports it; the runtime gives it an id and its place. */
export const ReportedItem = z.object({ body: ItemBody, nativeId: z.string().nullable(), truncated: z.boolean() });
export type ReportedItem = z.infer<typeof ReportedItem>;

/** What this environment's own services report: the outside's answers. Never taken from a caller. */
export const SystemCommand = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("run.claim"),
    runId: RunId,
    attemptId: AttemptId,
    provider: ProviderChoice,
    /** Transfers to make first (a provider handoff, a successor of a failed one). */
    create: z.array(TransferInput),
    /** Transfers to claim, in the order in which they are told. */
    claim: z.array(TransferId),
    /** What the provider already knows: superseded without a successor. */
    notNeeded: z.array(TransferId),
  }),
  z.object({
    type: z.literal("run.prepared"),
    runId: RunId,
    attemptId: AttemptId,
    plan: StartPlan,
    resolutions: z.array(
      z.object({
        transferId: TransferId,
        resolution: ContextTransferResolution,
        basePoint: ContextSourcePoint.nullable(),
        sourcePoint: ContextSourcePoint.nullable(),
      }),
    ),
    handoffs: z.array(ContextHandoff),
  }),
  z.object({ type: z.literal("run.unprepared"), runId: RunId, attemptId: AttemptId, error: Refusal, failed: z.array(TransferId) }),
  /** The environment was restored into another folder: its own projects and worktrees are below that; these are to be filled again. */
  z.object({ type: z.literal("environment.relocated"), from: Text, to: Text, worktrees: z.array(ThreadId) }),
  /** The folder that the run's thread works in from now on is there. */
  z.object({ type: z.literal("thread.files_restored"), threadId: ThreadId, keepAs: Text }),
  z.object({ type: z.literal("run.placed"), runId: RunId, attemptId: AttemptId, workspace: Workspace, restored: Text.nullable() }),
  /** The provider took the input (decision 29). `nativeRef` is the native conversation that serves it. */
  z.object({
    type: z.literal("run.accepted"),
    runId: RunId,
    attemptId: AttemptId,
    nativeRef: NativeRef,
    turnRef: NativeRef.nullable(),
  }),
  z.object({ type: z.literal("run.items"), runId: RunId, attemptId: AttemptId, items: z.array(ReportedItem) }),
  z.object({
    type: z.literal("run.request_opened"),
    runId: RunId,
    attemptId: AttemptId,
    request: OpenRequest.omit({ itemId: true }),
    item: ReportedItem,
  }),
  z.object({ type: z.literal("run.request_closed"), runId: RunId, attemptId: AttemptId, requestId: Text }),
  z.object({
    type: z.literal("run.ended"),
    runId: RunId,
    attemptId: AttemptId,
    ending: RunEnding,
    error: Refusal.nullable(),
    /** True when the input was refused because of how the native conversation was to be opened (a fork that failed). */
    openFailed: z.boolean(),
    /** True when only taking the conversation back in place was refused: it is there, and may be forked. */
    rewindRefused: z.boolean().optional(),
    turnRef: NativeRef.nullable(),
    /** What its folder held, for its checkpoint; absent where there was none to keep. */
    workspace: WorkspaceSnapshot.nullable().optional(),
    /** Why it was not kept. */
    workspaceNote: Text.nullable().optional(),
  }),
  z.object({ type: z.literal("thread.wake"), threadId: ThreadId }),
  z.object({ type: z.literal("thread.forward"), threadId: ThreadId }),
  /** What a move needs on this side cannot be had. */
  z.object({ type: z.literal("move.unfit"), moveId: MoveId, error: Refusal }),
  /** The thread was quiet at this ordinal, and nobody holds its native conversation any more. */
  z.object({ type: z.literal("move.depart"), moveId: MoveId, atOrdinal: z.number().int().nonnegative(), code: MovedCode.nullable() }),
  z.object({ type: z.literal("thread.emptied"), threadId: ThreadId, keptUpTo: z.number().int().nonnegative().nullable() }),
  z.object({ type: z.literal("thread.text_purged"), threadId: ThreadId, count: z.number().int().positive() }),
  z.object({ type: z.literal("effects.started"), effectIds: z.array(EffectId) }),
  z.object({
    type: z.literal("effects.closed"),
    effectIds: z.array(EffectId),
    state: z.enum(["done", "settled", "set_aside"]),
    note: z.string(),
  }),
  z.object({ type: z.literal("link.configure"), linkId: LinkId, name: Title, peerEnvironmentId: EnvironmentId }),
  z.object({ type: z.literal("link.state"), linkId: LinkId, state: z.enum(["connecting", "connected", "lost"]), error: Text.nullable() }),
  z.object({ type: z.literal("link.diverged"), linkId: LinkId, reason: Text, ours: LinkPositions, theirs: LinkPositions }),
  /** A numbered message of a peer, opened and found authentic; `digest` is of its plain bytes. */
  z.object({
    type: z.literal("link.receive"),
    linkId: LinkId,
    incarnation: IncarnationId,
    epoch: z.number().int().positive(),
    number: z.number().int().positive(),
    digest: z.string(),
    /** Null when it is authentic but cannot be used: it takes its number and is kept for reading. */
    body: LinkBody.nullable(),
    raw: Text,
    requestId: RequestId.nullable(),
    commit: z.number().int().nonnegative(),
  }),
  z.object({ type: z.literal("link.receipt"), linkId: LinkId, received: LinkPosition }),
  /** The peer's positions were heard: its incarnation and epoch are remembered. */
  z.object({
    type: z.literal("link.peer_positions"),
    linkId: LinkId,
    positions: LinkPositions,
    /** What was known for certain before the peer stated these; null when the statement may be old. */
    known: z.object({ receipted: LinkPosition, received: LinkPosition.nullable() }).nullable(),
  }),
]);
export type SystemCommand = z.infer<typeof SystemCommand>;
