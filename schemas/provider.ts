import { z } from "zod";
import { AttemptId, ProviderThreadId, RunId, ThreadId, TransferId } from "./ids.ts";
import { Text, Timestamp } from "./text.ts";

/** Names one configured instance of a provider, e.g. `codex` or `codex-work`. Native continuation needs the same instance (decision 23). */
export const ProviderInstanceId = z.string().regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, "lower-case letters, digits, '.', '_' and '-'");
export type ProviderInstanceId = z.infer<typeof ProviderInstanceId>;

export const ProviderChoice = z.object({ instance: ProviderInstanceId, model: Text.min(1).max(200).nullable() });
export type ProviderChoice = z.infer<typeof ProviderChoice>;

/** How far a native id can be trusted to name the same thing again. */
export const RefStrength = z.enum(["strong", "weak", "none"]);
export type RefStrength = z.infer<typeof RefStrength>;
export const NativeRef = z.object({ id: z.string().min(1), strength: RefStrength });
export type NativeRef = z.infer<typeof NativeRef>;

/** What an adapter can do (providers.md). The orchestrator asks only for what is declared. */
export const ProviderCapabilities = z.object({
  nativeFork: z.enum(["turn", "message", "head", "none"]),
  rewind: z.enum(["inPlace", "viaFork", "none"]),
  contextInjection: z.enum(["native", "text"]),
  writerLock: z.boolean(),
  processModel: z.enum(["shared", "per-session"]),
  appTools: z.enum(["dynamic", "in-process", "mcp-http", "none"]),
  steering: z.boolean(),
  interrupt: z.boolean(),
  approvals: z.boolean(),
  subagents: z.boolean(),
  identity: z.object({ thread: RefStrength, turn: RefStrength, item: RefStrength }),
  /** Tokens, where the provider tells. */
  contextWindow: z.number().int().positive().nullable(),
});
export type ProviderCapabilities = z.infer<typeof ProviderCapabilities>;

/** A native turn as it is known here: by its native ref, and by the attempt whose input it was given. */
export const TurnName = z.object({ turnRef: NativeRef.nullable(), attemptId: AttemptId.nullable() });
export type TurnName = z.infer<typeof TurnName>;

/** Inclusive range of run ordinals. */
export const OrdinalRange = z.tuple([z.number().int().nonnegative(), z.number().int().nonnegative()]);
export type OrdinalRange = z.infer<typeof OrdinalRange>;

/**
 * What a native conversation knows of its thread. `base` is what it had before this thread's own runs: the history up to
 * the fork's source point. `native` are runs it served, `told` runs it was given in handoffs, `transfers` what was injected.
 */
export const Coverage = z.object({
  base: z.boolean(),
  native: z.array(OrdinalRange),
  told: z.array(OrdinalRange),
  transfers: z.array(TransferId),
});
export type Coverage = z.infer<typeof Coverage>;

/** The provider's native conversation that backs a thread: a handle, never an identity. */
export const ProviderThread = z.object({
  id: ProviderThreadId,
  threadId: ThreadId,
  instance: ProviderInstanceId,
  nativeRef: NativeRef,
  coverage: Coverage,
  /** Last run it served, whose native turn a resume continues after. */
  lastRunId: RunId.nullable(),
  /** The provider could not open it again: nothing goes on with it, what it knew is told anew. */
  lost: z.boolean(),
  /** Set when later runs were taken back: before it is gone on with, it is taken back to this run (decision 0115). */
  cutAfter: z.number().int().nonnegative().nullable().optional(),
  /** What the provider would not do to take it back: in place, or not by a fork either. It is not asked that again. */
  rewindRefused: z.enum(["inPlace", "fork"]).optional(),
  createdAt: Timestamp,
});
export type ProviderThread = z.infer<typeof ProviderThread>;
