import { z } from "zod";
import { HandoffId, ItemId, RunId, ThreadId, TransferId } from "./ids.ts";
import { Digest, Text, Timestamp } from "./text.ts";

/** How large a handoff may be (decision 34). */
export const HandoffBudget = z.object({ unit: z.enum(["chars", "tokens"]), limit: z.number().int().nonnegative() });
export type HandoffBudget = z.infer<typeof HandoffBudget>;

export const LeftOut = z.object({
  itemId: ItemId.nullable(),
  reason: z.enum(["over_budget", "not_retold_kind", "truncated_output"]),
  size: z.number().int().nonnegative(),
});
export type LeftOut = z.infer<typeof LeftOut>;

/** The artefact that is told to a provider: built lazily, stored, shown to people (contract §4). */
export const ContextHandoff = z.object({
  id: HandoffId,
  transferId: TransferId,
  kind: z.enum(["portable_context", "delta_context", "checkpoint_context"]),
  /** Exactly the text that the provider is given. */
  payload: Text,
  /** True when the payload is the run's own message (a spawned task): then it is not put before the message again. */
  isMessage: z.boolean(),
  covers: z.array(z.object({ threadId: ThreadId, runId: RunId.nullable(), ordinal: z.number().int().nonnegative() })),
  budget: HandoffBudget,
  /** In the budget's unit. */
  size: z.number().int().nonnegative(),
  digest: Digest,
  leftOut: z.array(LeftOut),
  createdAt: Timestamp,
});
export type ContextHandoff = z.infer<typeof ContextHandoff>;
