import { type Refusal, type RefusalCode, refusal } from "../../../schemas/refusal.ts";
import type { RunEnding } from "../../../schemas/run.ts";
import type { Frame } from "./protocol.ts";

export type Ending = { ending: RunEnding; error: Refusal | null };

const login = "Log in with `claude` and this instance's configuration folder, or set the API key in the instance's `env`; then send again.";
const later = "Wait, or choose another provider, then send again.";
const contextFull = "Start a fork or a new thread, or send /compact.";

/** Reasons for which Claude itself stopped a turn that nobody interrupted and no endpoint failed. */
const stopped: Record<string, [RefusalCode, string, string]> = {
  prompt_too_long: ["invalid_request", "context_too_large", contextFull],
  blocking_limit: ["invalid_request", "context_too_large", contextFull],
  rapid_refill_breaker: ["invalid_request", "context_too_large", contextFull],
  image_error: ["invalid_request", "provider_rejected_input", "Leave the image out, then send again."],
  max_turns: ["provider_unavailable", "provider_limit", "Raise the limit in the configuration of Claude, then send again."],
  budget_exhausted: ["provider_unavailable", "provider_limit", "Raise the limit in the configuration of Claude, then send again."],
  stop_hook_prevented: ["provider_unavailable", "stopped_by_hook", "A hook of the configuration of Claude stopped it; see what it wants."],
  hook_stopped: ["provider_unavailable", "stopped_by_hook", "A hook of the configuration of Claude stopped it; see what it wants."],
};

/**
 * How a turn really ended: by the reason that Claude gives and by the last thing that was said. Neither `subtype` (an error of
 * the model's endpoint comes as `success`) nor `is_error` (an interrupt is one) says it. `lastError` is the last message of
 * the turn where that was an error of the endpoint's; `interrupted` that we asked for an interrupt.
 */
export function endingOf(result: Frame, lastError: Frame | null, interrupted: boolean, redact: (text: string) => string): Ending {
  const reason = result.terminal_reason;
  if (reason === "aborted_streaming" || reason === "aborted_tools") return { ending: "interrupted", error: null };
  const said = redact(wordsOf(result, lastError));
  const fail = (code: RefusalCode, slug: string, hint: string): Ending => {
    const status = result.api_error_status ?? lastError?.api_error_status ?? null;
    const details = { terminalReason: reason ?? null, ...(status !== null && { httpStatus: status }) };
    return { ending: "failed", error: refusal(code, slug, `Claude: ${said}`, hint, details) };
  };
  if (reason === "api_error" || reason === "model_error" || lastError !== null) return fail(...endpointCase(result, lastError));
  const known = stopped[reason ?? ""];
  if (known !== undefined) return fail(...known);
  if (result.stop_reason === "refusal")
    return fail("invalid_request", "provider_policy", "The model refuses this content; change the message.");
  if (reason === "completed") return { ending: "completed", error: null };
  // Older programs give no reason; a newer one may give one that is not known here.
  if (result.subtype === "success" && result.is_error !== true) return { ending: "completed", error: null };
  if (interrupted && reason === undefined) return { ending: "interrupted", error: null };
  return fail("provider_unavailable", "provider_failed", "See the message of Claude; then send again.");
}

/** Where it is told, by the endpoint's status, else by the name of the case. */
function endpointCase(result: Frame, lastError: Frame | null): [RefusalCode, string, string] {
  const status = result.api_error_status ?? lastError?.api_error_status ?? null;
  const name = lastError?.error ?? result.api_error ?? "";
  const connection = result.api_error ?? lastError?.api_error ?? "";
  if (status === 403) return ["provider_unavailable", "access_denied", login];
  if (status === 401 || loginCases.has(name)) return ["provider_unavailable", "login_required", login];
  if (status === 429 || name === "rate_limit" || name === "billing_error") return ["provider_unavailable", "usage_limit", later];
  if (status === 404 || name === "model_not_found")
    return ["model_unavailable", "model_not_found", "Choose a model that this account can use, then send again."];
  if (status === 413) return ["invalid_request", "context_too_large", contextFull];
  if (status === 400 || status === 422 || name === "invalid_request")
    return ["invalid_request", "provider_rejected_input", "The model's endpoint refused this input; change the message or the model."];
  if (status !== null && status >= 500) return ["provider_unavailable", "provider_overloaded", later];
  if (connection !== "")
    return ["provider_unavailable", "endpoint_unreachable", "See that the model's endpoint can be reached from here, then send again."];
  return ["provider_unavailable", "provider_failed", "See the message of Claude; then send again."];
}

const loginCases = new Set(["authentication_failed", "oauth_org_not_allowed", "account_on_hold", "verification_required"]);

function wordsOf(result: Frame, lastError: Frame | null): string {
  const blocks = lastError?.message?.content;
  const last = Array.isArray(blocks) ? blocks.map(({ text = "" }) => text).join("") : (blocks ?? "");
  const errors = result.errors?.filter((line) => !line.startsWith("[ede_diagnostic]")).join("; ");
  return last || result.result || errors || `the turn ended: ${result.terminal_reason ?? result.subtype ?? "no reason given"}`;
}
