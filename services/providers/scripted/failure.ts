import { type RefusalCode, refusal } from "../../../schemas/refusal.ts";
import { ProviderFailure } from "../contract.ts";

type FailureOptions = {
  code?: RefusalCode;
  openFailed?: boolean;
  rewindRefused?: boolean;
  details?: Record<string, unknown>;
  cause?: unknown;
};

/** A failure of the scripted provider; `provider_unavailable` unless another code is given. */
export function failure(reason: string, message: string, hint: string, options: FailureOptions = {}): ProviderFailure {
  return new ProviderFailure(refusal(options.code ?? "provider_unavailable", reason, message, hint, options.details), {
    ...(options.openFailed !== undefined && { openFailed: options.openFailed }),
    ...(options.rewindRefused !== undefined && { rewindRefused: options.rewindRefused }),
    cause: options.cause,
  });
}

/** A failure that the script itself asks for. */
export function scriptedFailure(said: { code?: RefusalCode | undefined; reason?: string | undefined; message: string }): ProviderFailure {
  return failure(said.reason ?? "scripted_failure", said.message, "The provider's script says so.", said.code ? { code: said.code } : {});
}

/** This way of opening a conversation is impossible, whatever is tried again. */
export function cannotOpen(reason: string, message: string, hint: string): ProviderFailure {
  return failure(reason, message, hint, { openFailed: true });
}

/** The conversation is there, and is not taken back in place. */
export function cannotRewind(message: string): ProviderFailure {
  return failure("native_rewind_refused", message, "Fork it, or start from a handoff instead.", { rewindRefused: true });
}
