import { needThread, type Plan } from "../plan.ts";
import { refuse } from "../refused.ts";

/**
 * A person of this environment takes over what a link has started: it carries the link's stamp no longer, so the link may
 * change it no more, and its agent may do here what any other may. Its modes stay as they are.
 */
export const adoptThread: Plan<"thread.adopt"> = (command, context) => {
  const thread = needThread(context, command.threadId);
  if (context.caller.kind !== "user")
    refuse("capability_denied", "person_only", "only a person can adopt a thread", "Ask the person of this environment.");
  if (thread.linkOrigin === null)
    refuse("invalid_request", "not_started_by_link", `${thread.id} carries no link's stamp`, "There is nothing to adopt.");
  context.uow.tell({ to: thread.id, event: { type: "thread.adopted" } });
  return { threadId: thread.id, from: thread.linkOrigin };
};
