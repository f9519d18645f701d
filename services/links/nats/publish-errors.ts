import { JetStreamApiError } from "@nats-io/jetstream";
import { errors } from "@nats-io/transport-node";
import { PublishError } from "../../runtime/ports/link-transport.ts";

/** Nobody took the publish: no stream has the subject. */
export function isUnheard(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof errors.RequestError && cause.isNoResponders();
}

export function toPublishError(error: unknown): PublishError {
  if (error instanceof PublishError) return error;
  // The client says of this that JetStream is not enabled, which is one of the reasons.
  const message = isUnheard(error) ? "no stream of the server takes the message" : messageOf(error);
  if (error instanceof errors.TimeoutError) return new PublishError("timeout", message, { cause: error });
  if (error instanceof JetStreamApiError && /maximum|insufficient|exceeded/i.test(message))
    return new PublishError("full", message, { cause: error });
  return new PublishError("failed", message, { cause: error });
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
