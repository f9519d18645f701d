import { z } from "zod";
import { CommandId } from "../../schemas/ids.ts";
import { Refusal, type RefusalCode } from "../../schemas/refusal.ts";
import { statusOf } from "./statuses.ts";

export const problemMediaType = "application/problem+json";

/** Problem details (RFC 9457): what an answer that is no success holds. All of the refusal is in it. */
export const Problem = z.object({
  type: z.string().meta({ format: "uri-reference", description: "Says what the code means; answers to GET." }),
  title: z.string(),
  status: z.number().int().min(400).max(599),
  /** The refusal's message. */
  detail: z.string(),
  code: Refusal.shape.code,
  reason: Refusal.shape.reason,
  hint: Refusal.shape.hint,
  details: Refusal.shape.details,
  /** Of a refused command. */
  commandId: CommandId.optional(),
  repeated: z.boolean().optional(),
});
export type Problem = z.infer<typeof Problem>;

/** What each code means, whatever the case was. */
export const titles: { readonly [code in RefusalCode]: string } = {
  capability_denied: "The caller may not do this",
  parent_not_active: "The parent's run is not under way",
  provider_unavailable: "The provider is not available",
  model_unavailable: "The model is not available",
  runtime_mode_escalation_denied: "The runtime mode is broader than the caller's",
  interaction_mode_escalation_denied: "The interaction mode is broader than the caller's",
  task_not_found: "There is no such task",
  task_not_cancellable: "The task cannot be cancelled",
  thread_not_found: "There is no such thread",
  run_not_found: "There is no such run",
  thread_not_sendable: "The thread takes no messages",
  thread_not_interruptible: "Nothing in the thread can be interrupted",
  thread_departed: "The thread has moved to another environment",
  invalid_request: "The request cannot be used",
  idempotency_conflict: "The id was used for something else",
  orchestration_error: "The environment could not do it",
};

const problemPath = (code: RefusalCode) => `/v1/problems/${code}`;

/** The answer to a request that is refused. `of` is the command, where it was one. */
export function problemResponse(what: Refusal, of: { commandId?: CommandId; repeated?: boolean } = {}, headers = {}): Response {
  const { code, reason, message, hint, details } = what;
  const status = statusOf(what);
  const problem: Problem = {
    type: problemPath(code),
    title: titles[code],
    status,
    detail: message,
    code,
    reason,
    hint,
    ...(details !== undefined && { details }),
    ...of,
  };
  return new Response(JSON.stringify(problem), { status, headers: { "content-type": problemMediaType, ...headers } });
}
