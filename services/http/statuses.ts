import { type Refusal, type RefusalCode, refusal } from "../../schemas/refusal.ts";

const byCode = {
  capability_denied: 403,
  parent_not_active: 409,
  provider_unavailable: 503,
  model_unavailable: 503,
  runtime_mode_escalation_denied: 403,
  interaction_mode_escalation_denied: 403,
  task_not_found: 404,
  task_not_cancellable: 409,
  thread_not_found: 404,
  run_not_found: 404,
  thread_not_sendable: 409,
  thread_not_interruptible: 409,
  thread_departed: 410,
  invalid_request: 400,
  idempotency_conflict: 409,
  orchestration_error: 503,
} as const satisfies Record<RefusalCode, number>;

const byReason = {
  unknown_caller: 401,
  too_large: 413,
  too_many_requests: 429,
  wrong_media_type: 415,
  unsatisfiable_range: 416,
  not_found: 404,
  unknown_route: 404,
  wrong_method: 405,
  ahead_of_store: 409,
  disk_full: 507,
  internal: 500,
} as const satisfies Record<string, number>;

export type RefusalStatus = (typeof byCode)[RefusalCode] | (typeof byReason)[keyof typeof byReason];

/** The HTTP status that a refusal is answered with. The refusal itself says more; clients go by its code and reason. */
export function statusOf({ code, reason }: Refusal): RefusalStatus {
  return reason in byReason ? byReason[reason as keyof typeof byReason] : byCode[code];
}

/** Thrown in a route, turned into the refusal's answer by the application; never leaves this folder. */
export class HttpRefusal extends Error {
  override readonly name = "HttpRefusal";
  readonly refusal: Refusal;
  constructor(what: Refusal) {
    super(what.message);
    this.refusal = what;
  }
}

export function invalid(reason: string, message: string, hint: string, details?: Record<string, unknown>): HttpRefusal {
  return new HttpRefusal(refusal("invalid_request", reason, message, hint, details));
}
