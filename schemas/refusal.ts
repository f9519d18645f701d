import { z } from "zod";

/** The closed set of codes (contract §8). Returned, never thrown across a boundary. */
export const RefusalCode = z.enum([
  "capability_denied",
  "parent_not_active",
  "provider_unavailable",
  "model_unavailable",
  "runtime_mode_escalation_denied",
  "interaction_mode_escalation_denied",
  "task_not_found",
  "task_not_cancellable",
  "thread_not_found",
  "run_not_found",
  "thread_not_sendable",
  "thread_not_interruptible",
  "thread_departed",
  "invalid_request",
  "idempotency_conflict",
  "orchestration_error",
]);
export type RefusalCode = z.infer<typeof RefusalCode>;

/** Why something did not happen, and what the caller can do (decision 20). */
export const Refusal = z.object({
  code: RefusalCode,
  /** Open slug that names the case within the code, e.g. `no_stable_point`. */
  reason: z.string().regex(/^[a-z0-9_]+$/),
  message: z.string(),
  /** What to do about it, in one sentence. */
  hint: z.string(),
  details: z.record(z.string(), z.unknown()).optional(),
});
export type Refusal = z.infer<typeof Refusal>;

/** Refusals that depend on the outside are not stored as receipts: the same command may succeed later (decision 21). */
export function dependsOnOutside(code: RefusalCode): boolean {
  return code === "provider_unavailable" || code === "model_unavailable" || code === "orchestration_error";
}

export function refusal(code: RefusalCode, reason: string, message: string, hint: string, details?: Record<string, unknown>): Refusal {
  return details === undefined ? { code, reason, message, hint } : { code, reason, message, hint, details };
}
