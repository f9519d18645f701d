import { z } from "zod";
import { EnvironmentId, IncarnationId, LinkId, MoveId, RequestId, RunId, TaskId, ThreadId, TransferId } from "./ids.ts";
import { ImportRequest } from "./import.ts";
import { LinkEnding, LinkPosition, LinkPositions } from "./link.ts";
import { Modes } from "./modes.ts";
import { MoveOffer, MovePreflight } from "./move.ts";
import { ProviderChoice } from "./provider.ts";
import { Refusal } from "./refusal.ts";
import { RunEnding } from "./run.ts";
import { Digest, MessageText, Text, Timestamp, Title } from "./text.ts";
import { ResultOutcome } from "./transfer.ts";

/** What one environment asks of another. One request, one decision, for ever (links.md, invariant 6). */
export const LinkRequest = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("thread.import"), import: ImportRequest }),
  z.object({
    kind: z.literal("task.spawn"),
    taskId: TaskId,
    title: Title,
    prompt: MessageText,
    handedOver: Text.nullable(),
    provider: ProviderChoice.nullable(),
    /** The child's modes; `modesAsked` tells that somebody asked for them, so that they are refused, not narrowed, beyond the grant. */
    modes: Modes,
    modesAsked: z.boolean(),
    depth: z.number().int().positive(),
    parentThreadId: ThreadId,
    rootThreadId: ThreadId,
  }),
  z.object({ kind: z.literal("task.cancel"), taskId: TaskId, reason: Text }),
  /** What would a move lack there? */
  z.object({ kind: z.literal("move.preflight"), move: MovePreflight }),
  /** The thread lives here no more if you take it: one commit there makes it live, or refuses it (links.md, Moves). */
  z.object({ kind: z.literal("thread.move"), offer: MoveOffer }),
  /** Take it no more; or say that you have. */
  z.object({ kind: z.literal("move.abort"), moveId: MoveId, sourceThreadId: ThreadId }),
]);
export type LinkRequest = z.infer<typeof LinkRequest>;

export const LinkAnswer = z.discriminatedUnion("ok", [
  z.object({ ok: z.literal(true), result: z.record(z.string(), z.unknown()) }),
  z.object({ ok: z.literal(false), refusal: Refusal }),
]);
export type LinkAnswer = z.infer<typeof LinkAnswer>;

/** News of a task that runs at the sender. */
export const LinkNotice = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("task.started"), taskId: TaskId }),
  z.object({
    kind: z.literal("task.result"),
    taskId: TaskId,
    childThreadId: ThreadId,
    runId: RunId,
    ordinal: z.number().int().positive(),
    ending: RunEnding,
    text: Text.nullable(),
    error: Refusal.nullable(),
  }),
  /** A result that came for a thread after it had moved; `threadId` is what the thread is called at the receiver. */
  z.object({ kind: z.literal("thread.late"), threadId: ThreadId, transferId: TransferId, outcome: ResultOutcome, text: Text }),
]);
export type LinkNotice = z.infer<typeof LinkNotice>;

/** The plain body of a numbered message: what is written to the outbox, digested, sealed and sent, byte for byte. */
export const LinkBody = z.discriminatedUnion("type", [
  z.object({ type: z.literal("request"), requestId: RequestId, request: LinkRequest }),
  z.object({ type: z.literal("answer"), requestId: RequestId, answer: LinkAnswer }),
  z.object({ type: z.literal("notice"), notice: LinkNotice }),
]);
export type LinkBody = z.infer<typeof LinkBody>;

/** Unnumbered messages: idempotent, sent again whenever it helps. */
export const LinkControl = z.discriminatedUnion("type", [
  /** "My store has everything of yours up to here." */
  z.object({ type: z.literal("receipt"), received: LinkPosition }),
  /**
   * Where I stand. With a `challenge` an answer is wanted, and it repeats it in `answers`: only that tells a statement
   * made now from one that the fabric kept and delivers late or again.
   */
  z.object({
    type: z.literal("positions"),
    positions: LinkPositions,
    challenge: z.string().min(1).max(64).nullable(),
    answers: z.string().min(1).max(64).nullable(),
    /** Your next message is here and waits, for its blob or for local trouble to end: it need not be sent again. */
    holdsNext: z.boolean(),
  }),
  /** A person has ended this link: nothing of it is taken any more, and why. */
  z.object({ type: z.literal("ended"), how: LinkEnding, reason: Text }),
  /** The blob of a message that waits for it: please put it (again). */
  z.object({ type: z.literal("blob_wanted"), digest: Digest }),
]);
export type LinkControl = z.infer<typeof LinkControl>;

/** A body that was too large to travel inline: the blob's plaintext is the body's bytes. */
export const BlobPointer = z.object({
  digest: Digest,
  bytes: z.number().int().positive(),
  object: z.string().min(1),
  key: z.string().min(1),
});
export type BlobPointer = z.infer<typeof BlobPointer>;

/**
 * The envelope's head: authenticated, readable by the broker. The sealed part follows it (see services/links/envelope.ts).
 * `number` is 0 for control messages.
 */
export const EnvelopeHead = z.object({
  v: z.literal(1),
  linkId: LinkId,
  from: EnvironmentId,
  to: EnvironmentId,
  incarnation: IncarnationId,
  /** The sender's store commit that caused it; 0 for control messages. */
  commit: z.number().int().nonnegative(),
  epoch: z.number().int().positive(),
  number: z.number().int().nonnegative(),
  kind: z.enum(["request", "answer", "notice", "control"]),
  requestId: RequestId.nullable(),
  senderKey: z.string(),
  recipientKey: z.string(),
  /** W3C trace context, where one exists. */
  trace: z.string().nullable(),
  sentAt: Timestamp,
  /** What the sealed part holds: the body itself, or a pointer to it. */
  carries: z.enum(["body", "blob"]),
});
export type EnvelopeHead = z.infer<typeof EnvelopeHead>;
