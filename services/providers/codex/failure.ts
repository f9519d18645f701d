import { type Refusal, type RefusalCode, refusal } from "../../../schemas/refusal.ts";
import { ProviderFailure } from "../contract.ts";
import type { CodexError } from "./protocol.ts";

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

/** The app-server's own refusal of one request. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: number;
  readonly method: string;
  constructor(method: string, code: number, message: string) {
    super(message);
    this.method = method;
    this.code = code;
  }
}

/** `cause` as a {@link ProviderFailure}: a refusal of the app-server becomes one, anything else is a fault of ours. */
export function asFailure(cause: unknown): ProviderFailure {
  if (cause instanceof ProviderFailure) return cause;
  if (cause instanceof RpcError) {
    return failure("provider_refused", `Codex refused ${cause.method}: ${cause.message}`, "See the message of Codex; then send again.", {
      cause,
    });
  }
  const message = cause instanceof Error ? cause.message : String(cause);
  return failure("adapter_fault", `The Codex adapter failed: ${message}`, "Send again; if it comes back, report it.", {
    code: "orchestration_error",
    cause,
  });
}

/** Somebody has the thread loaded, or is about to let go of it: it is there, and can be opened a little later. */
export function isHeld({ message }: RpcError): boolean {
  return message.includes("already has an active writer") || message.includes("is closing");
}

/** How opening a thread failed. A fork or a thread that Codex refuses is impossible to open this way, whatever is tried again. */
export function openFailure(kind: "new" | "resume" | "fork", cause: unknown): ProviderFailure {
  if (!(cause instanceof RpcError)) return asFailure(cause);
  const said = `Codex: ${cause.message}`;
  if (isHeld(cause)) {
    return failure("native_thread_in_use", said, "Close this conversation in the other Codex, then send again.", { cause });
  }
  if (kind === "fork") {
    return failure("native_fork_refused", said, "Send again: the history is then told instead.", { openFailed: true, cause });
  }
  if (kind === "resume") {
    return failure("native_thread_not_found", said, "Send again: the history is then told to a new conversation.", {
      openFailed: true,
      cause,
    });
  }
  return failure("provider_refused", said, "See the configuration of this Codex instance, then send again.", { cause });
}

const login = "Run `codex login` with this instance's CODEX_HOME, or set the API key that its configuration names; then send again.";
const later = "Wait, or choose another provider, then send again.";

/** Why a turn failed, from `turn.error`. The status of the model's endpoint decides where it is told, else the name of the case. */
export function turnFailure(error: CodexError | null | undefined, redact: (text: string) => string): Refusal {
  const said = redact(plainMessage(error?.message ?? "The turn failed; Codex does not say why."));
  const { name, status } = caseOf(error?.codexErrorInfo);
  const make = (code: RefusalCode, reason: string, hint: string) =>
    refusal(code, reason, `Codex: ${said}`, hint, { codexErrorInfo: name, ...(status !== null && { httpStatus: status }) });

  if (status === 401 || name === "unauthorized" || said.startsWith("Missing environment variable")) {
    return make("provider_unavailable", "login_required", login);
  }
  if (status === 403) return make("provider_unavailable", "access_denied", login);
  if (status === 429 || limitCases.has(name)) return make("provider_unavailable", "usage_limit", later);
  if (status === 404 || name === "modelNotFound") {
    return make("model_unavailable", "model_not_found", "Choose a model that this Codex instance can use, then send again.");
  }
  if (name === "contextWindowExceeded") {
    return make("invalid_request", "context_too_large", "Start a fork or a new thread, or choose a model with a larger context.");
  }
  if (name === "badRequest" || status === 400 || (name === "other" && isErrorBody(error?.message))) {
    return make("invalid_request", "provider_rejected_input", "The model's endpoint refused this input; change the message or the model.");
  }
  if (refusalCases.has(name)) return make("invalid_request", "provider_policy", "The provider refuses this content; change the message.");
  if (name === "sandboxError") return make("provider_unavailable", "sandbox_unavailable", "See the prerequisites of the Codex sandbox.");
  if (name === "serverOverloaded" || name === "internalServerError" || (status !== null && status >= 500)) {
    return make("provider_unavailable", "provider_overloaded", later);
  }
  if (connectionCases.has(name)) {
    return make("provider_unavailable", "endpoint_unreachable", "See that the model's endpoint can be reached from here, then send again.");
  }
  return make("provider_unavailable", "provider_failed", "See the message of Codex; then send again.");
}

const limitCases = new Set(["usageLimitExceeded", "rateLimitExceeded", "sessionBudgetExceeded", "responseTooManyFailedAttempts"]);
const refusalCases = new Set(["cyberPolicy", "bioPolicy", "misalignmentPolicyViolation", "inferenceHookDenied", "tooManyDenials"]);
const connectionCases = new Set(["httpConnectionFailed", "responseStreamConnectionFailed", "responseStreamDisconnected"]);

/** `"other"`, or `{httpConnectionFailed: {httpStatusCode: 401}}`: the case is the string or the only key. */
function caseOf(info: unknown): { name: string; status: number | null } {
  if (typeof info === "string") return { name: info, status: null };
  if (typeof info !== "object" || info === null) return { name: "other", status: null };
  const [name, detail] = Object.entries(info)[0] ?? ["other", null];
  const status = (detail as { httpStatusCode?: unknown } | null)?.httpStatusCode;
  return { name, status: typeof status === "number" ? status : null };
}

/** A 400 arrives as case `other` with the endpoint's whole body as the message. */
function isErrorBody(message = ""): boolean {
  return message.startsWith("{") && plainMessage(message) !== message;
}

function plainMessage(message: string): string {
  try {
    const body = JSON.parse(message) as { error?: { message?: unknown } } | null;
    return typeof body?.error?.message === "string" ? body.error.message : message;
  } catch {
    return message;
  }
}
