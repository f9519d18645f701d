import { type RefusalCode, refusal } from "../../../schemas/refusal.ts";
import { ProviderFailure } from "../contract.ts";

type FailureOptions = {
  code?: RefusalCode;
  openFailed?: boolean;
  rewindRefused?: boolean;
  details?: Record<string, unknown>;
  cause?: unknown;
};

/** A failure of this adapter; `provider_unavailable` unless another code is given. */
export function failure(reason: string, message: string, hint: string, options: FailureOptions = {}): ProviderFailure {
  return new ProviderFailure(refusal(options.code ?? "provider_unavailable", reason, message, hint, options.details), {
    ...(options.openFailed !== undefined && { openFailed: options.openFailed }),
    ...(options.rewindRefused !== undefined && { rewindRefused: options.rewindRefused }),
    cause: options.cause,
  });
}

/** `cause` as a {@link ProviderFailure}; what is none yet is a fault of ours. */
export function asFailure(cause: unknown): ProviderFailure {
  if (cause instanceof ProviderFailure) return cause;
  const message = cause instanceof Error ? cause.message : String(cause);
  return failure("adapter_fault", `The Claude adapter failed: ${message}`, "Send again; if it comes back, report it.", {
    code: "orchestration_error",
    cause,
  });
}

export function openAborted(): ProviderFailure {
  return failure("open_aborted", "Opening the conversation was given up.", "Send again.");
}

/**
 * How opening a session failed, from Claude's own words. A fork or a session that it refuses is impossible to open this way,
 * whatever is tried again.
 */
export function openFailure(kind: "new" | "resume" | "fork", said: string): ProviderFailure | null {
  if (/No message found with message\.uuid|Resume rejected/.test(said) && kind === "fork")
    return failure("native_fork_refused", `Claude: ${said}`, "Send again: the history is then told instead.", { openFailed: true });
  if (!/No conversation found|No message found/.test(said)) return null;
  return kind === "fork"
    ? failure("native_fork_refused", `Claude: ${said}`, "Send again: the history is then told instead.", { openFailed: true })
    : failure("native_thread_not_found", `Claude: ${said}`, "Send again: the history is then told to a new conversation.", {
        openFailed: true,
      });
}
